import type { RecordMetadata, SendOptions, StoreHandle, Topic } from '@tally/streams';

/**
 * The record in hand, as `@Ctx()` gives it to handlers and `host.switchToRpc().getContext()` to guards, interceptors and filters.
 * It ends with the handler: afterwards every call throws `RecordClosedError`.
 */
export interface StreamContext<K = unknown> extends RecordMetadata {
  readonly key: K;
  /** Largest timestamp that the task has seen, this record's included. */
  readonly streamTimeMs: number;
  /** Wall-clock time in milliseconds since the epoch, from the worker's clock. */
  readonly nowMs: number;
  readonly taskId: string;
  /** Aborts when the record is closed early: by a deadline, an abort or a rebalance. Hand it to the services that you call. */
  readonly signal: AbortSignal;
  /** Sends to a topic, in the transaction of this record. Serialized at once: a record that can never be written is refused here. */
  send<TK, TV>(topic: Topic<TK, TV>, key: NoInfer<TK>, value: NoInfer<TV>, options?: SendOptions): void;
  /**
   * One of the stores that the handler was declared with.
   * @throws when the handler did not declare it.
   */
  store<S>(definition: StoreHandle<S>): S;
}
