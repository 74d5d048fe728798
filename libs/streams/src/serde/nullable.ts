/**
 * Adds null to a serde: null is Kafka's null (no bytes at all), everything else is as the inner serde writes it.
 */
import type { AnySerde, Serde } from './serde.js';

const inner: unique symbol = Symbol('tally.nullable.inner');

interface NullableSerde<T> extends Serde<T | null> {
  readonly [inner]: Serde<T>;
}

/** @example const balances = topic('balances', { key: string(), value: nullable(int64()) }); */
export function nullable<T>(serde: Serde<T>): Serde<T | null> {
  if (serde.acceptsNull === true) return serde as Serde<T | null>;
  const result: NullableSerde<T> = {
    name: `nullable(${serde.name})`,
    acceptsNull: true,
    ...(serde.schema === undefined ? {} : { schema: serde.schema }),
    ...(serde.isExact === true ? { isExact: true } : {}),
    [inner]: serde,
    serialize: (value) => (value === null ? null : serde.serialize(value)),
    deserialize: serde.deserialize,
  };
  return Object.freeze(result);
}

/** The serde inside, where there is one: for places that never hold null. */
export function withoutNull(serde: AnySerde): AnySerde {
  return inner in serde ? (serde as unknown as NullableSerde<unknown>)[inner] : serde;
}
