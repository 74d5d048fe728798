import type { Hooks, Logger, WorkerOptions } from '@tally/streams';

export interface TestDriverOptions {
  /** Of every topic that is not declared with a number of its own. Default 1. */
  readonly partitions?: number;
  /** Topics that there are at the start beside those that the topology names: for sources that read whatever matches a pattern. */
  readonly topics?: readonly string[];
  /** Wall-clock time at the start, in milliseconds since the epoch. Default 2026-01-01T00:00:00Z. */
  readonly startMs?: number;
  /** Decides what is left to chance, such as the partition of a record without a key. Default 1. */
  readonly seed?: number;
  /** A call fails when what it has to wait for has not happened after this long on the driver's clock. Default 600,000 ms. */
  readonly callTimeoutMs?: number;
}

export interface StartOptions extends TestDriverOptions {
  /** Of the worker. `commitIntervalMs` is always 0: what a call has brought about is committed when it returns. */
  readonly worker?: Partial<WorkerOptions>;
  readonly hooks?: Hooks;
  /** Default: silent. */
  readonly logger?: Logger;
}

export type ResolvedDriverOptions = Required<Omit<TestDriverOptions, 'startMs'>> & Pick<TestDriverOptions, 'startMs'>;

export function resolveDriverOptions(options: TestDriverOptions): ResolvedDriverOptions {
  const { partitions = 1, topics = [], seed = 1, callTimeoutMs = 600_000, startMs } = options;
  return { partitions, topics, seed, callTimeoutMs, ...(startMs === undefined ? {} : { startMs }) };
}
