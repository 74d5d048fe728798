import { InvalidConfigurationError } from '../core/errors.js';
import type { ErrorPolicies } from '../topology/error-policy.js';

export type Guarantee = 'exactly-once' | 'at-least-once' | 'at-most-once';

export interface WorkerOptions {
  /** Consumer group, prefix of internal topics and of the state directory. `[a-zA-Z0-9._-]`, 1 to 100 characters. */
  readonly applicationId: string;
  /** Local disk (no network file system); several workers may share it. */
  readonly stateDirectory: string;
  /** Default `exactly-once`. */
  readonly guarantee?: Guarantee;
  /** Default 100 ms. 0: commits follow one another without a pause. */
  readonly commitIntervalMs?: number;
  /** Committed writes reach the disk this often; after a crash, so much of the changelog is replayed. Default 3,000 ms. */
  readonly stateFlushIntervalMs?: number;
  /** Replaces what is in flight when a transaction takes longer. Default 10,000 ms. */
  readonly transactionTimeoutMs?: number;
  /** How long the outcome of a commit is asked for when its answer is lost, before the producer is replaced. Default 30,000 ms. */
  readonly commitSettleTimeoutMs?: number;
  /** Bound of open, committing and unflushed bytes of all tasks together. Default 128 MiB. */
  readonly bufferBytesMax?: number;
  /** Bound of read caches of all tasks together. Default 64 MiB. */
  readonly cacheBytesMax?: number;
  /** Records taken from the consumer at once. Default 500. */
  readonly recordsPerConsume?: number;
  /** Largest record, in bytes of key, value and headers, that output and changelog topics take. Default 1,000,000. */
  readonly maxRecordBytes?: number;
  /** Asynchronous handlers fail after this long. Default 30,000 ms. */
  readonly handlerDeadlineMs?: number;
  /** What happens to records that fail. Default: stop for each kind. */
  readonly errors?: ErrorPolicies;
  /** Of internal topics. Default -1: the broker's own default. */
  readonly replicationFactor?: number;
  /** `delete.retention.ms` of the changelog topics that are created. Default 7 days. */
  readonly tombstoneRetentionMs?: number;
  /** Workers that may share the state directory. Default 16. */
  readonly slotsMax?: number;
  /** How long a start waits for locked slots of the state directory before it takes one that nobody has used, or gives up. Default 10,000 ms. */
  readonly lockTimeoutMs?: number;
  /** Bound of a graceful stop. Default 25,000 ms. */
  readonly shutdownTimeoutMs?: number;
  /** How long a start waits for the broker to answer. Default 30,000 ms. */
  readonly brokerTimeoutMs?: number;
}

/** Options with every default filled in. */
export type ResolvedOptions = Readonly<Required<WorkerOptions>>;

const guarantees: readonly Guarantee[] = ['exactly-once', 'at-least-once', 'at-most-once'];

function invalid(option: string, message: string): InvalidConfigurationError {
  return new InvalidConfigurationError('OPTION_INVALID', `Option '${option}' ${message}`, { option });
}

function wholeNumber(options: WorkerOptions, option: keyof WorkerOptions, fallback: number, min: number, max: number): number {
  const value = options[option] ?? fallback;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    throw invalid(option, `must be a whole number from ${min} to ${max}; it is ${String(value)}.`);
  }
  return value;
}

/**
 * Fills in defaults and checks every option.
 * @throws InvalidConfigurationError code `OPTION_INVALID`, naming the option and what is allowed.
 */
export function resolveOptions(options: WorkerOptions): ResolvedOptions {
  const { applicationId, stateDirectory } = options;
  if (typeof applicationId !== 'string' || !/^[a-zA-Z0-9._-]{1,100}$/.test(applicationId)) {
    throw invalid('applicationId', `must be 1 to 100 characters of a-z, A-Z, 0-9, '.', '_' and '-'; it is '${String(applicationId)}'.`);
  }
  if (typeof stateDirectory !== 'string' || stateDirectory === '') {
    throw invalid('stateDirectory', 'must name a directory on a local disk; it is missing or empty.');
  }
  const guarantee = options.guarantee ?? 'exactly-once';
  if (!guarantees.includes(guarantee)) throw invalid('guarantee', `must be one of ${guarantees.join(', ')}; it is '${String(guarantee)}'.`);
  const transactionTimeoutMs = wholeNumber(options, 'transactionTimeoutMs', 10_000, 1_000, 900_000);
  const commitIntervalMs = wholeNumber(options, 'commitIntervalMs', 100, 0, 900_000);
  if (commitIntervalMs > transactionTimeoutMs / 2) {
    throw invalid('commitIntervalMs', `must be at most half of transactionTimeoutMs (${transactionTimeoutMs}); it is ${commitIntervalMs}.`);
  }
  const replicationFactor = options.replicationFactor ?? -1;
  if (replicationFactor !== -1) wholeNumber(options, 'replicationFactor', -1, 1, 32_767);
  return {
    applicationId,
    stateDirectory,
    guarantee,
    commitIntervalMs,
    transactionTimeoutMs,
    commitSettleTimeoutMs: wholeNumber(options, 'commitSettleTimeoutMs', 30_000, 100, 3_600_000),
    replicationFactor,
    stateFlushIntervalMs: wholeNumber(options, 'stateFlushIntervalMs', 3_000, 10, 3_600_000),
    bufferBytesMax: wholeNumber(options, 'bufferBytesMax', 128 * 1024 * 1024, 1024 * 1024, 64 * 1024 ** 3),
    cacheBytesMax: wholeNumber(options, 'cacheBytesMax', 64 * 1024 * 1024, 0, 64 * 1024 ** 3),
    recordsPerConsume: wholeNumber(options, 'recordsPerConsume', 500, 1, 100_000),
    maxRecordBytes: wholeNumber(options, 'maxRecordBytes', 1_000_000, 1_000, 1024 ** 3),
    handlerDeadlineMs: wholeNumber(options, 'handlerDeadlineMs', 30_000, 1, 3_600_000),
    errors: options.errors ?? {},
    tombstoneRetentionMs: wholeNumber(options, 'tombstoneRetentionMs', 7 * 24 * 3_600_000, 60_000, 10 * 365 * 24 * 3_600_000),
    slotsMax: wholeNumber(options, 'slotsMax', 16, 1, 1_000),
    lockTimeoutMs: wholeNumber(options, 'lockTimeoutMs', 10_000, 0, 3_600_000),
    shutdownTimeoutMs: wholeNumber(options, 'shutdownTimeoutMs', 25_000, 100, 3_600_000),
    brokerTimeoutMs: wholeNumber(options, 'brokerTimeoutMs', 30_000, 100, 3_600_000),
  };
}
