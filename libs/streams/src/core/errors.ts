/**
 * How an error wants to be treated. The runtime decides by this classification alone, never by message texts.
 *
 * - `retriable`: the same call may succeed later.
 * - `abortable`: the transaction must be aborted; afterwards the work may be repeated.
 * - `fenced`: the producer was replaced by another one with the same transactional id, or outlived its transaction.
 * - `staleMember`: the group no longer knows this member, or knows it by a newer epoch.
 * - `recordRefused`: one record (or what it wrote) can never be written as it is.
 * - `pending`: the answer is not known yet (for example an offset in an open transaction); ask again.
 * - `closed`: the scope, task or worker that the call belongs to has ended.
 * - `invalid`: bad options, topology or environment; a person has to change something.
 * - `corrupt`: stored bytes do not say what they should.
 * - `fatal`: none of the above; the worker stops.
 */
export type ErrorKind =
  | 'retriable'
  | 'abortable'
  | 'fenced'
  | 'staleMember'
  | 'recordRefused'
  | 'pending'
  | 'closed'
  | 'invalid'
  | 'corrupt'
  | 'fatal';

/** Where an error happened; every field that is known is named in the message. */
export interface ErrorPlace {
  readonly topic?: string | undefined;
  readonly partition?: number | undefined;
  readonly offset?: number | undefined;
  readonly task?: string | undefined;
  readonly store?: string | undefined;
  readonly node?: string | undefined;
  readonly option?: string | undefined;
}

export interface TallyErrorOptions {
  /** Stable upper-case code, part of the public interface. */
  readonly code: string;
  readonly kind: ErrorKind;
  /** What happened and what to do, in full sentences. */
  readonly message: string;
  readonly place?: ErrorPlace | undefined;
  readonly cause?: unknown;
}

/** Base of every error that Tally throws. */
export class TallyError extends Error {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly place: ErrorPlace;

  constructor(options: TallyErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.kind = options.kind;
    this.place = options.place ?? {};
  }
}

/** Bad options, topology, topics or state directory: a person has to change something before a start can succeed. */
export class InvalidConfigurationError extends TallyError {
  constructor(code: string, message: string, place?: ErrorPlace, cause?: unknown) {
    super({ code, kind: 'invalid', message, place, cause });
  }
}

/** A record that can never be written as it is: serialization, size, header shape, unknown topic. */
export class RecordRefusedError extends TallyError {
  constructor(code: string, message: string, place?: ErrorPlace, cause?: unknown) {
    super({ code, kind: 'recordRefused', message, place, cause });
  }
}

/** Stored bytes that do not decode. */
export class CorruptDataError extends TallyError {
  constructor(code: string, message: string, place?: ErrorPlace, cause?: unknown) {
    super({ code, kind: 'corrupt', message, place, cause });
  }
}

/** A call on the context or a store of a record whose handler has ended: returned, failed, timed out or was overtaken by an abort. */
export class RecordClosedError extends TallyError {
  constructor(place: ErrorPlace, reason: string) {
    super({
      code: 'RECORD_CLOSED',
      kind: 'closed',
      message: `The record is closed (${reason}): its context and stores can no longer be used. Await everything that a handler starts before it returns.`,
      place,
    });
  }
}

/** Says which code an unknown thrown value carries, for logs and headers. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error
    ? thrown
    : new Error(typeof thrown === 'string' ? thrown : `a value that is no Error was thrown: ${String(thrown)}`);
}
