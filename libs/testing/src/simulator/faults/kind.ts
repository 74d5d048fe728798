import type { Draw } from '../plan/draw.js';
import type { Emphasis } from '../plan/emphasis.js';
import type { FaultKind, HistoryPlan, Moment, PlannedFault } from '../plan/plan.js';
import type { History } from '../world/history.js';

/** What is known of a history when its faults are drawn. */
export interface FaultSetting extends Pick<HistoryPlan, 'machines' | 'worker' | 'cluster' | 'durationMs'> {
  readonly application: ApplicationFacts;
}

/** The same, and what the seed has more of. */
export interface DrawSetting extends FaultSetting {
  readonly emphasis: Emphasis;
}

/** What of an application decides about the faults that make sense. */
export interface ApplicationFacts {
  readonly hasStores: boolean;
  /** Every task has a store, so that lost offsets cannot pass unnoticed. */
  readonly isStateful: boolean;
  /** A task may have several inputs. */
  readonly joinsTopics: boolean;
  /** It may have asynchronous handlers. */
  readonly isAsynchronous: boolean;
  /** What it does with a handler that passes its deadline leaves no trace in the end. */
  readonly forgivesDeadlines: boolean;
  /** What it makes of topics that begin anew, and of input that is deleted, can be told. */
  readonly survivesLostTopics: boolean;
}

/** One kind of fault: when it makes sense, how it is drawn, and what it does. */
export interface FaultDefinition<K extends FaultKind> {
  /** How likely it is beside the others. */
  readonly weight: number;
  /** Where it means more than elsewhere, and is likelier for it. */
  tells?(setting: FaultSetting): boolean;
  /** The engine must refuse to go on, and a person repairs it: at most one such fault in a history. */
  readonly needsPerson?: boolean;
  suits(setting: FaultSetting): boolean;
  draw(draw: Draw, setting: DrawSetting): FaultOf<K>;
  /** Arms it; where it takes effect it calls `history.fired`. */
  arm(history: History, fault: FaultOf<K>): void;
  /** Names that it is counted under. */
  readonly labels: readonly string[];
}

export type FaultOf<K extends FaultKind> = Extract<PlannedFault, { readonly kind: K }>;

/** Faults that gather come within this time, in milliseconds. */
const gatheredWithinMs = 500;

/** A time within the part of the history in which faults happen; early where the fault lasts long, so that something comes after it. */
export function someTime(draw: Draw, { durationMs, emphasis: { timesMs } }: DrawSetting, lastsMs = 0): number {
  const latestMs = Math.floor(Math.min(durationMs * 0.9, Math.max(durationMs * 0.4, durationMs - lastsMs)));
  if (timesMs.length === 0 || draw.chance(0.3)) return draw.between(50, latestMs);
  return Math.min(latestMs, draw.oneOf(timesMs) + draw.between(0, gatheredWithinMs));
}

/** The moment that the seed stresses, more often than not. */
export function stressedMoment(draw: Draw, setting: DrawSetting, lastsMs = 0): Moment | undefined {
  const { event } = setting.emphasis;
  if (event === undefined || draw.chance(0.4)) return undefined;
  return { afterMs: someTime(draw, setting, lastsMs), on: event, nth: draw.between(1, 3) };
}

export function someMachine(draw: Draw, { machines }: FaultSetting): number {
  return draw.below(machines);
}
