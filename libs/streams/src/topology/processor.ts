import type { Headers, StreamRecord } from '../core/record.js';
import type { Topic } from './topic.js';
import type { StoreHandle } from './store-definition.js';

/** Where the record in hand came from. In a punctuator: topic '', partition of the task, offset -1. */
export interface RecordMetadata {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
  readonly headers: Headers;
  /** 1 at first; one more after each failure of this record that was retried. */
  readonly attempt: number;
  /** `topic-partition-offset`: the same at every attempt and on every instance, for calls to services that deduplicate. */
  readonly idempotencyKey: string;
}

export interface SendOptions {
  /** Default: the current record's timestamp. */
  readonly timestampMs?: number;
  /** Default: none. */
  readonly headers?: Headers;
  /** Default: by the key (Java-compatible murmur2). */
  readonly partition?: number;
}

/** Why an operator passes over a record that it was given. */
export type DropReason = 'nullKey' | 'nullValue' | 'late' | 'outOfOrder' | 'expired' | 'stale' | 'invalidTimestamp';

/**
 * What a processor may do while it has a record (or a due punctuation) in hand. Belongs to that record's scope: when the handler has
 * returned, failed, timed out, or its task was rolled back, every call throws `RecordClosedError`.
 */
export interface ProcessorContext<KOut = unknown, VOut = unknown> {
  readonly taskId: string;
  readonly record: RecordMetadata;
  /** Largest timestamp that the task has seen, this record's included; -1 before any. */
  readonly streamTimeMs: number;
  /** Wall-clock time, from the injected clock. */
  readonly nowMs: number;
  /** Aborts when the scope is closed early: by a deadline, an abort or a rebalance. Hand it to the services that you call. */
  readonly signal: AbortSignal;
  /** To all children, or to the child with this name. */
  forward(record: StreamRecord<KOut, VOut>, child?: string): void;
  /** Sends to a topic, in the transaction of this record. Serialized at once; refused records throw here. */
  send<K, V>(topic: Topic<K, V>, key: NoInfer<K>, value: NoInfer<V>, options?: SendOptions): void;
  /**
   * Discards what was written, forwarded and sent for this record so far; what follows is kept. Where several processors read the same
   * topic, only what this one and those behind it have done. For wrappers that handle a failure themselves.
   */
  rollback(): void;
  /** Counts the record in hand as dropped by this processor, for the reason given; it stops nothing by itself. */
  drop(reason: DropReason): void;
  /**
   * Raises the processor's own stream time to the timestamp and returns it: the largest one that it was told, -1 before any. It is kept with
   * the store, one of the processor's that keeps time or order (all but key-value stores), so a record that is taken back did not raise it.
   */
  advanceTime(store: StoreHandle<unknown>, timestampMs: number): number;
  /** One of the stores that the processor was declared with. */
  store<S>(definition: StoreHandle<S>): S;
}

export type PunctuationType = 'streamTime' | 'wallClock';

export interface Cancellable {
  cancel(): void;
}

/** What a processor gets once, when its task opens (again: after an abort it is made anew). */
export interface InitContext<KOut = unknown, VOut = unknown> {
  readonly taskId: string;
  readonly partition: number;
  readonly applicationId: string;
  /**
   * Calls back every `intervalMs`. Stream time: on the first record, then at multiples of the interval, once per jump. Wall clock: an
   * interval after the task opened, then every interval. The callback has a context of its own and may be asynchronous.
   */
  schedule(
    intervalMs: number,
    type: PunctuationType,
    callback: (timestampMs: number, context: ProcessorContext<KOut, VOut>) => void | Promise<void>,
  ): Cancellable;
}

/** A processor as the runtime sees it. One instance per task. */
export interface Processor<KIn, VIn, KOut = unknown, VOut = unknown> {
  init?(context: InitContext<KOut, VOut>): void;
  process(record: StreamRecord<KIn, VIn>, context: ProcessorContext<KOut, VOut>): void | Promise<void>;
  close?(): void;
}
