/** The key of a windowed table or stream: a key within one window. */
export interface Windowed<K> {
  readonly key: K;
  /** Milliseconds since the epoch, included. */
  readonly startMs: number;
  /** Milliseconds since the epoch: excluded for time windows, the last record's time for sessions. */
  readonly endMs: number;
}
