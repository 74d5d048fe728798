/** What the handles of all kinds of stores have in common. Handles are data: `state` implements them. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { AnySerde, Serde } from '../serde/serde.js';
import { checkInteger, checkName, checkSerde, internalNameLengthMax } from './names.js';
import type { QueryHandle } from './queries.js';

export type StoreKind = 'keyValue' | 'window' | 'session' | 'versioned' | 'sorted';

/** Handle of a store whose kind and types do not matter to the holder: every store's handle is one. */
export interface AnyStoreDefinition {
  readonly kind: StoreKind;
  readonly name: string;
  readonly key: AnySerde;
  readonly value: AnySerde;
  /** Schema version of the values, 0 to 255; written into every stored value. */
  readonly version: number;
  readonly migrate?: (stored: Uint8Array, version: number) => unknown;
  /** Kept in a changelog topic, so that it survives the loss of the disk. Default true. */
  readonly changelog: boolean;
  /** Of key-value stores: entries older than this in stream time are removed by tombstones. */
  readonly ttlMs?: number;
}

/** Handle of something that a context opens as `S`. */
export interface StoreHandle<S> {
  readonly kind: StoreKind;
  readonly name: string;
  /** Never set: it carries the type. */
  readonly opens?: S;
}

/** @typeParam S what contexts open, @typeParam Q what queries give */
export interface TypedDefinition<Kind extends StoreKind, K, V, S, Q> extends AnyStoreDefinition, StoreHandle<S>, QueryHandle<Q> {
  readonly kind: Kind;
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  /** Reads a value that an older version wrote. */
  readonly migrate?: (stored: Uint8Array, version: number) => V;
}

export interface StoreOptions<K, V> {
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  /** Schema version of the values, 0 to 255; raised when their layout changes. Default 0. */
  readonly version?: number;
  /** Reads a value that an older version wrote. Without it such a value is refused. */
  readonly migrate?: (stored: Uint8Array, version: number) => NoInfer<V>;
  /** Kept in a changelog topic, so that it survives the loss of the disk. Default true. */
  readonly changelog?: boolean;
}

/**
 * Checks the options that all kinds have, and completes them.
 * @throws InvalidConfigurationError `INVALID_NAME`, `INVALID_OPTION`
 */
export function baseDefinition<const Kind extends StoreKind, K, V>(kind: Kind, name: string, options: StoreOptions<K, V>) {
  checkName('store', name, internalNameLengthMax);
  const owner = ownerOf(name);
  checkSerde(owner, 'key', options.key);
  checkSerde(owner, 'value', options.value);
  const { key, value, version = 0, migrate, changelog = true } = options;
  refuseNullable(owner, 'key', key);
  refuseNullable(owner, 'value', value);
  checkInteger(owner, 'version', version, 0, 255);
  return { kind, name, key, value, version, changelog, ...(migrate === undefined ? {} : { migrate }) };
}

/** Checks a length of time. @throws InvalidConfigurationError `INVALID_OPTION` */
export function checkDuration(name: string, option: string, milliseconds: number): void {
  checkInteger(ownerOf(name), option, milliseconds, 1, Number.MAX_SAFE_INTEGER);
}

/** How a store is called in messages. */
export function ownerOf(name: string): string {
  return `store "${name}"`;
}

/** In a store and its changelog null means that there is no entry, so it can be neither a key nor a value. */
function refuseNullable(owner: string, option: string, serde: AnySerde): void {
  if (serde.acceptsNull !== true) return;
  throw new InvalidConfigurationError(
    'INVALID_OPTION',
    `The option "${option}" of ${owner} is ${serde.name}, but a store cannot hold null: delete the entry instead, and declare the store without nullable().`,
    { option },
  );
}
