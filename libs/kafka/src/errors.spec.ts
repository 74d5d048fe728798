import { describe, expect, it } from 'vitest';
import { BrokerError, type ErrorKind } from '@tally/streams';
import { classify, type Operation } from './errors.js';

interface NativeFlags {
  isFatal?: boolean;
  isRetriable?: boolean;
  isTxnRequiresAbort?: boolean;
}

const failing = (code: number, flags: NativeFlags = {}): object => ({
  code,
  message: 'Local: something',
  isFatal: false,
  isRetriable: false,
  isTxnRequiresAbort: false,
  ...flags,
});
const F: NativeFlags = { isFatal: true };
const R: NativeFlags = { isRetriable: true };
const A: NativeFlags = { isTxnRequiresAbort: true };

describe("classifying the client's errors", () => {
  it.each<[what: string, operation: Operation, code: number, flags: NativeFlags, kind: ErrorKind, name: string]>([
    ['a commit that timed out is the same call again', 'commit', -185, R, 'retriable', 'TIMED_OUT'],
    ['a commit that timed out without flags too', 'commit', -185, {}, 'retriable', 'TIMED_OUT'],
    ['a fenced commit proves nothing', 'commit', -144, F, 'fenced', 'FENCED'],
    ['a fenced commit without flags too', 'commit', -144, {}, 'fenced', 'FENCED'],
    ['a commit of a refused record is aborted', 'commit', 10, A, 'abortable', 'RECORD_TOO_LARGE'],
    ['an echo of a refused batch is aborted', 'commit', 45, A, 'abortable', 'SEQUENCE_ECHO'],
    ['failed deliveries are aborted', 'commit', -149, A, 'abortable', 'CLIENT_ERROR'],
    ['a coordinator that loads while the commit asks for an abort', 'commit', 14, A, 'abortable', 'BROKER_UNAVAILABLE'],
    ['an unknown error of a commit never means that it failed', 'commit', 9_999, {}, 'fenced', 'CLIENT_ERROR'],
    ['an abort that timed out is called again', 'abort', -185, R, 'retriable', 'TIMED_OUT'],
    ['an abort in an invalid state replaces the producer', 'abort', 48, F, 'fenced', 'TRANSACTION_INVALID'],
    ['offsets of an unknown member', 'sendOffsets', 25, A, 'staleMember', 'STALE_MEMBER'],
    ['offsets of a stale generation', 'sendOffsets', 22, A, 'staleMember', 'STALE_MEMBER'],
    ['offsets of a stale epoch', 'sendOffsets', 113, A, 'staleMember', 'STALE_MEMBER'],
    ['offsets of a fenced epoch', 'sendOffsets', 110, A, 'staleMember', 'STALE_MEMBER'],
    ['offsets of a taken instance id', 'sendOffsets', 82, A, 'invalid', 'INSTANCE_TAKEN'],
    ['offsets while the broker is down', 'sendOffsets', -195, R, 'retriable', 'BROKER_UNAVAILABLE'],
    ['offsets while the coordinator loads', 'sendOffsets', 14, A, 'abortable', 'BROKER_UNAVAILABLE'],
    ['offsets that were fenced', 'sendOffsets', -144, {}, 'fenced', 'FENCED'],
    ['offsets in a transaction that has failed behind the scenes', 'sendOffsets', -172, {}, 'abortable', 'TRANSACTION_INVALID'],
    ['queueing in a transaction that has failed behind the scenes', 'produce', -172, {}, 'abortable', 'TRANSACTION_INVALID'],
    ['a commit without a transaction proves nothing', 'commit', -172, {}, 'fenced', 'TRANSACTION_INVALID'],
    ['an illegal state where there is no transaction', 'consume', -172, {}, 'fatal', 'CLIENT_ERROR'],
    ['metadata that the broker finds too long', 'sendOffsets', 12, A, 'invalid', 'OFFSET_METADATA_TOO_LARGE'],
    ['an init that timed out', 'init', -185, R, 'retriable', 'TIMED_OUT'],
    ['an init while the coordinator loads', 'init', 14, A, 'retriable', 'BROKER_UNAVAILABLE'],
    ['an init without authorization', 'init', 53, F, 'invalid', 'TRANSACTIONAL_ID_UNAUTHORIZED'],
    ['an init with too long a timeout', 'init', 50, F, 'invalid', 'TRANSACTION_TIMEOUT_INVALID'],
    ['any other fatal error of an init', 'init', -194, F, 'fenced', 'CLIENT_ERROR'],
    ['a begin on a producer with a fatal error', 'begin', -150, {}, 'fenced', 'PRODUCER_FATAL'],
    ['queueing on a producer with a fatal error', 'produce', -150, {}, 'fenced', 'PRODUCER_FATAL'],
    ['a record too large for the client', 'produce', 10, {}, 'recordRefused', 'RECORD_TOO_LARGE'],
    ['a report of a record too large', 'deliver', 10, {}, 'recordRefused', 'RECORD_TOO_LARGE'],
    ['a report of an invalid record', 'deliver', 87, {}, 'recordRefused', 'RECORD_INVALID'],
    ['a report of an invalid timestamp', 'deliver', 32, {}, 'recordRefused', 'TIMESTAMP_INVALID'],
    ['a report of a missing right', 'deliver', 29, {}, 'recordRefused', 'TOPIC_UNAUTHORIZED'],
    ['a report of an unknown topic', 'deliver', 3, {}, 'recordRefused', 'UNKNOWN_TOPIC'],
    ["a report of a time-out is no record's fault", 'deliver', -192, {}, 'retriable', 'TIMED_OUT'],
    ["a report of missing replicas is no record's fault", 'deliver', 19, {}, 'retriable', 'REPLICAS_MISSING'],
    ["a report of a purge is no record's fault", 'deliver', -152, {}, 'retriable', 'PURGED'],
    ['an offset in an open transaction', 'admin', 88, {}, 'pending', 'OFFSET_PENDING'],
    ['an unknown topic where nothing is written', 'admin', 3, {}, 'invalid', 'UNKNOWN_TOPIC'],
    ['a broker without the group protocol', 'consume', 35, {}, 'invalid', 'UNSUPPORTED_BROKER'],
    ['wrong credentials', 'connect', -169, {}, 'invalid', 'AUTHENTICATION_FAILED'],
    ['an unreachable broker', 'connect', -195, {}, 'retriable', 'BROKER_UNAVAILABLE'],
  ])('%s', (_, operation, code, flags, kind, name) => {
    const error = classify(failing(code, flags), operation, 'The call');
    expect([error.kind, error.code, error.brokerCode]).toEqual([kind, name, code]);
  });

  it('says what failed, why, and what to do', () => {
    expect(classify(failing(10), 'deliver', 'Writing to t-0', { topic: 't', partition: 0 })).toMatchObject({
      message: "Writing to t-0 failed: Local: something (10). Raise the topic's `max.message.bytes`, or write smaller records.",
      place: { topic: 't', partition: 0 },
    });
  });

  it('takes numbers, plain errors and its own errors', () => {
    expect(classify(-184, 'produce', 'It').brokerCode).toBe(-184);
    expect(classify(new Error('odd'), 'admin', 'It')).toMatchObject({
      kind: 'fatal',
      message: expect.stringContaining('odd') as unknown,
      brokerCode: undefined,
    });
    // The client gives -1 to errors that it could not read.
    expect(classify({ code: -1, message: 'odd' }, 'admin', 'It').brokerCode).toBeUndefined();
    const own = new BrokerError({ code: 'X', kind: 'closed', message: 'x' });
    expect(classify(own, 'commit', 'It')).toBe(own);
  });
});
