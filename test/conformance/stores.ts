/** The contents of stores as the oracle shows them. */
import type {
  AnyStoreDefinition,
  SessionStoreDefinition,
  StoreDefinition,
  VersionedStoreDefinition,
  WindowStoreDefinition,
} from '@tally/streams';
import type { DrivenApplication } from '@tally/testing';
import type { Build, NamedStore } from './node.js';
import type { StoreRow } from './scenario.js';
import { isWindowed, type Present, shown, textOf, type Type } from './types.js';

/** A row with what it is sorted by. */
interface SortedRow {
  readonly key: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly row: StoreRow;
}

/** Where stores are read from. */
export type Reading = Pick<DrivenApplication, 'query'>;

export async function rowsOf(store: NamedStore, reading: Reading, build: Build): Promise<readonly StoreRow[]> {
  const rows = await sortedRows(store, reading, build);
  rows.sort((left, right) => compareText(left.key, right.key) || left.startMs - right.startMs || left.endMs - right.endMs);
  return rows.map(({ row }) => row);
}

async function sortedRows(store: NamedStore, reading: Reading, build: Build): Promise<SortedRow[]> {
  const definition = store.definition as AnyStoreDefinition & StoreDefinition<Present, Present>;
  switch (definition.kind) {
    case 'keyValue': {
      const entries = await listed(reading.query(definition).all());
      if (!store.timestamps) return entries.map(([key, value]) => keyed(store, key, value));
      const found = await Promise.all(entries.map(([key]) => reading.query(definition).getWithTimestamp(key)));
      return entries.map(([key, value], index) => keyed(store, key, value, { timestamp: found[index]?.timestampMs ?? Number.NaN }));
    }
    case 'versioned':
      return versionedRows(store, definition, reading, build);
    case 'window':
      return windowRows(store, definition, reading);
    case 'session':
      return sessionRows(store, definition, reading);
    case 'sorted':
      throw new Error(`The store ${definition.name} is Tally's own: the oracle shows none of its kind.`);
  }
}

function keyed({ key: type, value: valueType }: NamedStore, key: Present, value: Present, rest: Partial<StoreRow> = {}): SortedRow {
  const text = textOf(key, type);
  const row = { key: text, value: shown(value, valueType), ...rest };
  if (typeof key !== 'object' || !isWindowed(type)) return { key: text, startMs: rest.timestamp ?? 0, endMs: 0, row };
  return { key: textOf(key.key, type.inner), startMs: key.startMs, endMs: key.endMs, row };
}

async function versionedRows(
  store: NamedStore,
  definition: VersionedStoreDefinition<Present, Present>,
  reading: Reading,
  build: Build,
): Promise<SortedRow[]> {
  const rows: SortedRow[] = [];
  for (const key of build.versionedKeys.get(definition.name)?.values() ?? []) {
    for (const { value, timestampMs, validToMs } of await reading.query(definition).history(key)) {
      const ended = validToMs === Number.POSITIVE_INFINITY ? {} : { validTo: validToMs };
      rows.push(keyed(store, key, value, { timestamp: timestampMs, ...ended }));
    }
  }
  return rows;
}

async function windowRows(store: NamedStore, definition: WindowStoreDefinition<Present, Present>, reading: Reading): Promise<SortedRow[]> {
  const queries = reading.query(definition);
  const rows: SortedRow[] = [];
  for (const [{ key, startMs, endMs }, value] of await listed(queries.all())) {
    const [entry] = await queries.fetch(key, startMs, startMs);
    const time = store.timestamps && entry !== undefined ? { timestamp: entry.timestampMs } : {};
    rows.push(windowed(store, key, startMs, endMs, { value: shown(value, store.value), ...time }));
  }
  return rows;
}

async function sessionRows(
  store: NamedStore,
  definition: SessionStoreDefinition<Present, Present>,
  reading: Reading,
): Promise<SortedRow[]> {
  const entries = await listed(reading.query(definition).all());
  return entries.map(([{ key, startMs, endMs }, value]) => windowed(store, key, startMs, endMs, { value: shown(value, store.value) }));
}

function windowed(
  { key: type, definition }: NamedStore,
  key: Present,
  startMs: number,
  endMs: number,
  row: Omit<StoreRow, 'key'>,
): SortedRow {
  const inner: Type = type;
  const windowType: Type = definition.kind === 'session' ? { kind: 'session', inner } : { kind: 'time', inner, sizeMs: endMs - startMs };
  return { key: textOf(key, inner), startMs, endMs, row: { key: textOf({ key, startMs, endMs }, windowType), ...row } };
}

async function listed<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
