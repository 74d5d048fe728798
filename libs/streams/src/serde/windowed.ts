/**
 * Windowed keys as Kafka Streams writes them, so that topics can be shared with it. Integers are big-endian.
 *
 *   timeWindowed    := key startMs:i64
 *   sessionWindowed := key endMs:i64 startMs:i64
 */
import type { Windowed } from '../core/windowed.js';
import { corruptLength, refusedValue } from './refusal.js';
import type { Serde } from './serde.js';

const timeBytes = 8;

/**
 * A key in a time window (tumbling, hopping, sliding). Only its start is written: all windows must be of one size.
 * @param options.sizeMs from the start of each window to its end
 * @example topic('visits-per-hour', { key: timeWindowed(string(), { sizeMs: 3_600_000 }), value: int64() });
 */
export function timeWindowed<K>(key: Serde<K>, { sizeMs }: { readonly sizeMs: number }): Serde<Windowed<K>> {
  return Object.freeze({
    ...described(`timeWindowed(${key.name}, ${sizeMs})`, key),
    serialize: (windowed: Windowed<K>) => append(key, windowed, [windowed.startMs]),
    deserialize(bytes: Uint8Array): Windowed<K> {
      const [inner, startMs] = split(bytes, 1);
      return { key: key.deserialize(inner), startMs: startMs!, endMs: startMs! + sizeMs };
    },
  });
}

/**
 * A key in a session.
 * @example topic('sessions', { key: sessionWindowed(string()), value: int64() });
 */
export function sessionWindowed<K>(key: Serde<K>): Serde<Windowed<K>> {
  return Object.freeze({
    ...described(`sessionWindowed(${key.name})`, key),
    serialize: (windowed: Windowed<K>) => append(key, windowed, [windowed.endMs, windowed.startMs]),
    deserialize(bytes: Uint8Array): Windowed<K> {
      const [inner, endMs, startMs] = split(bytes, 2);
      return { key: key.deserialize(inner), startMs: startMs!, endMs: endMs! };
    },
  });
}

function described<K>(name: string, key: Serde<K>): Pick<Serde<K>, 'name' | 'schema'> {
  return key.schema === undefined ? { name } : { name, schema: key.schema };
}

function append<K>(serde: Serde<K>, windowed: Windowed<K>, timesMs: readonly number[]): Uint8Array {
  const inner = serde.serialize(windowed.key);
  if (inner === null) throw refusedValue(serde.name, windowed.key, 'a windowed key cannot be null');
  const bytes = Buffer.allocUnsafe(inner.byteLength + timesMs.length * timeBytes);
  bytes.set(inner);
  for (const [index, timeMs] of timesMs.entries()) bytes.writeBigInt64BE(BigInt(timeMs), inner.byteLength + index * timeBytes);
  return bytes;
}

function split(bytes: Uint8Array, times: number): readonly [inner: Uint8Array, ...timesMs: number[]] {
  const innerBytes = bytes.byteLength - times * timeBytes;
  if (innerBytes < 0) throw corruptLength('windowed key', `${times * timeBytes} bytes or more`, bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const timesMs = Array.from({ length: times }, (_none, index) => Number(view.getBigInt64(innerBytes + index * timeBytes)));
  return [bytes.subarray(0, innerBytes), ...timesMs];
}
