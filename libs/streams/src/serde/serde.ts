/** The half of a serde that writes. A `Serde<Payment>` is a `Serializer` of every narrower type too. */
export interface Serializer<T> {
  /** Short name for messages and for the topology's hash, for example `json`. Names a byte layout: never reuse one for another. */
  readonly name: string;
  /** True for serdes made by `nullable()`: null passes through instead of being refused. */
  readonly acceptsNull?: boolean;
  readonly serialize: (value: T) => Uint8Array | null;
}

/**
 * Converts values of one type to bytes and back. Both directions are synchronous and pure.
 *
 * `null` is Kafka's null: `serialize` may return it (a tombstone), `deserialize` is never called with it: whoever reads a null hands it
 * on where `acceptsNull` is set and refuses it elsewhere. A value that does not fit is refused with a `RecordRefusedError`, bytes that do
 * not decode with a `CorruptDataError`; the record's error policy decides what follows.
 */
export interface Serde<T> extends Serializer<T> {
  readonly deserialize: (bytes: Uint8Array) => T;
  /** Every value has one form only: what was deserialized serializes to the same bytes. */
  readonly isExact?: boolean;
  /** Where all values have the same number of bytes. */
  readonly fixed?: FixedForm<T>;
  /** What tells apart two serdes of one name, for example the schema of `json(schema)`. Compared by identity. */
  readonly schema?: unknown;
}

/** Writes to and reads from the middle of an array, so that a value needs none of its own. */
export interface FixedForm<T> {
  readonly byteLength: number;
  /** @throws RecordRefusedError */
  write(value: T, target: Uint8Array, at: number): void;
  /** @throws CorruptDataError */
  read(source: Uint8Array, at: number): T;
}

/** A serde whose type does not matter to the holder. Every `Serde<T>` is one. */
export interface AnySerde {
  readonly name: string;
  readonly acceptsNull?: boolean;
  readonly serialize: (value: never) => Uint8Array | null;
  readonly deserialize: (bytes: Uint8Array) => unknown;
  readonly schema?: unknown;
}

/** Whether two serdes read and write the same bytes, as far as can be told. */
export function isSameSerde(left: AnySerde, right: AnySerde): boolean {
  return left === right || (left.name === right.name && left.schema === right.schema);
}
