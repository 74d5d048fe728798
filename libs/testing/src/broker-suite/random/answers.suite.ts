/** Answers of two brokers in a form that can be compared: what depends on the moment, the machine or the order of partitions is left out. */
import { BrokerError, type ConsumedRecord, type Headers } from '@tally/streams';
import type { RecordPart, RecordShape } from './commands.suite.js';

/** Plain JSON. */
export type Answer = unknown;

/** How often a call is repeated whose answer is "later". */
const attemptsMax = 20;

/** What the call resolved with, or the name of its error. */
export async function answerOf<T>(call: () => Promise<T> | T): Promise<T | string> {
  try {
    return await persistently(call);
  } catch (thrown) {
    return nameOf(thrown);
  }
}

/** A busy machine makes calls time out. Such an error says nothing but that the same call goes on with it. */
export async function persistently<T>(call: () => Promise<T> | T): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (thrown) {
      if (!(thrown instanceof BrokerError) || thrown.kind !== 'retriable' || attempt === attemptsMax) throw thrown;
    }
  }
}

/**
 * Kind and code. Of a fenced producer the kind alone: its code tells which request was the first to learn of it, a matter of time.
 * @throws what is no error of the port.
 */
export function nameOf(thrown: unknown): string {
  if (thrown instanceof BrokerError) return thrown.kind === 'fenced' ? 'fenced' : `${thrown.kind} ${thrown.code}`;
  if (thrown instanceof Error && /invariant/i.test(thrown.message)) return 'broken rule';
  throw thrown;
}

export function recordAnswer(record: ConsumedRecord, relativeOffset: number): Answer {
  return [
    relativeOffset,
    hex(record.key),
    hex(record.value),
    record.timestampMs,
    record.headers.map(({ name, value }) => [name, hex(value)]),
  ];
}

/** Long values by their length and ends. */
function hex(part: Uint8Array | null): string | null {
  if (part === null) return null;
  const text = Buffer.from(part).toString('hex');
  return text.length <= 64 ? text : `${text.slice(0, 16)}...${text.slice(-16)} (${part.byteLength})`;
}

const parts: Readonly<Record<RecordPart, Uint8Array | null>> = {
  null: null,
  empty: new Uint8Array(0),
  a: Buffer.from('a'),
  b: Buffer.from('b'),
  binary: Uint8Array.of(0, 255, 0, 1),
  long: Uint8Array.from({ length: 3_000 }, (_, index) => index * 7),
};

export function bytesOf(part: RecordPart): Uint8Array | null {
  return parts[part];
}

export function headersOf(shape: RecordShape): Headers {
  return shape.headers.map((name, index) => ({ name, value: name === 'empty' ? new Uint8Array(0) : Buffer.from(`value ${index}`) }));
}
