/** Punctuation schedules of one task. Their due times are part of what an abort rolls back. */
import type { PunctuationType, ProcessorContext } from '../topology/processor.js';
import type { ProcessorStep } from './graph.js';

export interface Schedule {
  readonly step: ProcessorStep;
  readonly intervalMs: number;
  readonly type: PunctuationType;
  readonly callback: (timestampMs: number, context: ProcessorContext) => void | Promise<void>;
  /** Distinguishes the schedules of one task. */
  readonly ordinal: number;
  /** Infinity once cancelled. */
  dueMs: number;
}

/** The multiple of the interval after `atMs`, counted from the time that was due: once per jump. */
export function nextDue(schedule: Pick<Schedule, 'dueMs' | 'intervalMs'>, atMs: number): number {
  const missed = Math.floor((atMs - schedule.dueMs) / schedule.intervalMs);
  return schedule.dueMs + (missed + 1) * schedule.intervalMs;
}

export class Schedules {
  private readonly all: Schedule[] = [];
  /** Earliest due times, kept so that the hot path compares one number. */
  streamTimeDueMs = Number.POSITIVE_INFINITY;
  wallClockDueMs = Number.POSITIVE_INFINITY;

  add(schedule: Omit<Schedule, 'ordinal'>): Schedule {
    const added = { ...schedule, ordinal: this.all.length };
    this.all.push(added);
    this.refresh();
    return added;
  }

  /** Due schedules of the type, in the order in which they were made. */
  due(type: PunctuationType, nowMs: number): Schedule[] {
    return this.all.filter((schedule) => schedule.type === type && schedule.dueMs <= nowMs);
  }

  setDue(schedule: Schedule, dueMs: number): void {
    schedule.dueMs = dueMs;
    this.refresh();
  }

  snapshot(): readonly number[] {
    return this.all.map((schedule) => schedule.dueMs);
  }

  /** After an abort the processors were made anew and scheduled the same again; their due times are those of the last commit. */
  restore(snapshot: readonly number[]): void {
    this.all.forEach((schedule, index) => {
      schedule.dueMs = snapshot[index] ?? schedule.dueMs;
    });
    this.refresh();
  }

  clear(): void {
    this.all.length = 0;
    this.refresh();
  }

  private refresh(): void {
    this.streamTimeDueMs = Number.POSITIVE_INFINITY;
    this.wallClockDueMs = Number.POSITIVE_INFINITY;
    for (const { type, dueMs } of this.all) {
      if (type === 'streamTime') this.streamTimeDueMs = Math.min(this.streamTimeDueMs, dueMs);
      else this.wallClockDueMs = Math.min(this.wallClockDueMs, dueMs);
    }
  }
}
