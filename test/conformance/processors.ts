/** The processors that scenarios name, for `process` and `processValues`, and the transformers of tables. */
import {
  type Header,
  type Headers,
  keyValueStore,
  type KeyValueStore,
  type KeyValueStoreDefinition,
  type ProcessorContext,
  type StoreDefinition,
  type StreamRecord,
  type VersionedRecord,
  type VersionedStore,
  versionedStore,
  type WindowStore,
  windowStore,
} from '@tally/streams';
import { type Build, NotInterpretedError } from './node.js';
import { type Data, long, numberOf, type Present, serdeOf, text, textOf, type Type } from './types.js';

/** What the oracle's versioned store returns for a version that is too old. */
const notPut = String(-(2n ** 63n));

/** What a processor may do: forward, and look at where and when it is. */
export interface Surroundings extends Pick<ProcessorContext, 'record' | 'streamTimeMs' | 'nowMs'> {
  readonly drop: ProcessorContext['drop'];
  readonly stores: Readonly<Record<string, unknown>>;
  readonly emit: (key: Data, value: Data, timestampMs: number, headers: Headers) => void;
}

export interface NamedProcessor {
  readonly value: Type;
  /** Its store, if it needs one, and the type of what is in it. */
  readonly store?: StoreDefinition<Present, Present>;
  readonly storeValue?: Type;
  /** Whether the oracle shows the timestamps of its rows. */
  readonly storeTimestamps?: boolean;
  readonly process: (record: StreamRecord<Data, Data>, surroundings: Surroundings) => void;
  readonly punctuator?: {
    readonly intervalMs: number;
    readonly type: 'streamTime' | 'wallClock';
    readonly run: (timestampMs: number, surroundings: Surroundings) => Promise<void>;
  };
}

/** What a scenario says of a processor. */
export interface ProcessorSpec {
  readonly spec: string;
  readonly storeName: string | undefined;
  readonly retentionMs: number;
  readonly trackedSerde: Build['trackedSerde'];
  readonly key: Type;
  readonly value: Type;
}

type Make = (argument: string, given: ProcessorSpec) => NamedProcessor;

export const processors: Readonly<Record<string, Make>> = {
  dedupe: (_argument, given) => ({
    ...counted(given, given.value),
    value: given.value,
    process({ key, value, timestampMs, headers }, { stores, emit }) {
      if (key !== null) {
        const store = own(stores);
        if ((store.get(key) ?? null) === value) return;
        if (value === null) store.delete(key);
        else store.put(key, value);
      }
      emit(key, value, timestampMs, headers);
    },
  }),

  count: (_argument, given) => ({
    ...counted(given, long),
    value: long,
    process({ key, timestampMs, headers }, { stores, emit }) {
      if (key !== null) emit(key, increment(own(stores), key), timestampMs, headers);
    },
  }),

  punctuateStreamTimeCount: (argument, given) => punctuated('streamTime', Number(argument), given),
  punctuateWallClockCount: (argument, given) => punctuated('wallClock', Number(argument), given),

  windowStoreRecent(argument, { storeName, retentionMs, key, value }) {
    const windowSizeMs = Number(argument);
    const store = windowStore(neededName(storeName), { key: serdeOf(key), value: serdeOf(value), retentionMs, windowSizeMs });
    return {
      value: text,
      store,
      storeValue: value,
      process(record, { stores, emit, drop }) {
        if (record.key === null) return;
        const windows = stores['own'] as WindowStore<Present, Present>;
        const { timestampMs: atMs } = record;
        const isWritten = record.value === null ? windows.delete(record.key, atMs) : windows.put(record.key, record.value, atMs);
        if (!isWritten) drop('expired');
        const found = windows.fetch(record.key, Math.max(0, atMs - windowSizeMs), atMs);
        const shown = found.map((entry) => `${entry.startMs}=${textOf(entry.value, value)}`).join(',');
        emit(record.key, shown, atMs, record.headers);
      },
    };
  },

  versionedAsOf(argument, given) {
    const { storeName, retentionMs: historyRetentionMs, key, value } = given;
    const name = neededName(storeName);
    const store = versionedStore(name, { key: given.trackedSerde(name, key), value: serdeOf(value), historyRetentionMs });
    const versionText = (version: VersionedRecord<Present> | undefined): string =>
      version === undefined ? 'null' : `${textOf(version.value, value)}@${version.timestampMs}`;
    return {
      value: text,
      store,
      storeValue: value,
      storeTimestamps: true,
      process(record, { stores, emit, drop }) {
        if (record.key === null) return;
        const versions = stores['own'] as VersionedStore<Present, Present>;
        const validToMs = versions.put(record.key, record.value, record.timestampMs);
        if (validToMs === undefined) drop('expired');
        const put = validToMs === undefined ? notPut : validToMs === Number.POSITIVE_INFINITY ? '-1' : String(validToMs);
        const then = versions.getAsOf(record.key, record.timestampMs - Number(argument));
        emit(record.key, `${put};${versionText(then)};${versionText(versions.get(record.key))}`, record.timestampMs, record.headers);
      },
    };
  },

  addHeader: (argument, { value }) => {
    const equals = argument.indexOf('=');
    const added: Header = { name: argument.slice(0, equals), value: Buffer.from(argument.slice(equals + 1)) };
    return stateless(value, (record, { emit }) => emit(record.key, record.value, record.timestampMs, [...record.headers, added]));
  },

  removeHeader: (argument, { value }) =>
    stateless(value, ({ key, value: of, timestampMs, headers }, { emit }) =>
      emit(
        key,
        of,
        timestampMs,
        headers.filter(({ name }) => name !== argument),
      ),
    ),

  headers: () =>
    stateless(text, ({ key, timestampMs, headers }, { emit }) => {
      const shown = headers.map(({ name, value }) => `${name}=${Buffer.from(value).toString()}`).join(';');
      emit(key, shown, timestampMs, headers);
    }),

  shiftTime: (argument, { value }) =>
    stateless(value, (record, { emit }) => emit(record.key, record.value, record.timestampMs + Number(argument), record.headers)),

  fanOut: (argument, { value }) =>
    stateless(value, (record, { emit }) => {
      for (let index = 0; index < Number(argument); index++) emit(record.key, record.value, record.timestampMs + index, record.headers);
    }),

  times: (_argument, { value: type }) =>
    stateless(text, ({ key, value, timestampMs, headers }, { emit, streamTimeMs, nowMs }) =>
      emit(key, `${textOf(value, type)}@${timestampMs}/${streamTimeMs}/${nowMs}`, timestampMs, headers),
    ),

  metadata: (_argument, { value: type }) =>
    stateless(text, ({ key, value, timestampMs, headers }, { emit, record: { topic, partition, offset } }) =>
      emit(key, `${textOf(value, type)}@${topic}/${partition}/${offset}`, timestampMs, headers),
    ),
};

export function processor(given: ProcessorSpec): NamedProcessor {
  const [name = '', ...rest] = given.spec.split(':');
  const make = processors[name];
  if (make === undefined) throw new NotInterpretedError(`The processor ${name} is not interpreted yet.`);
  return make(rest.join(':'), given);
}

/** The transformers of tables: `keyValue`, and `seen`, which counts its calls for a key. */
export function transformer(name: string, calls: KeyValueStoreDefinition<Present, bigint> | undefined, key: Type, value: Type) {
  if (name !== 'keyValue' && name !== 'seen') throw new Error(`There is no transformer "${name}".`);
  const stores = (calls === undefined ? {} : { calls }) as { readonly calls: KeyValueStoreDefinition<Present, bigint> };
  return {
    stores,
    transform(of: Data, ofKey: Present, context: { readonly stores: { readonly calls: KeyValueStore<Present, bigint> } }): string | null {
      if (name === 'keyValue') return of === null ? null : `${textOf(ofKey, key)}:${textOf(of, value)}`;
      const count = increment(context.stores.calls, ofKey);
      return of === null ? null : `${textOf(of, value)}#${count}`;
    },
  };
}

function neededName(storeName: string | undefined): string {
  if (storeName === undefined) throw new Error('This processor needs the name of a store.');
  return storeName;
}

function stateless(value: Type, process: NamedProcessor['process']): NamedProcessor {
  return { value, process };
}

function counted({ storeName, key }: ProcessorSpec, value: Type): Pick<NamedProcessor, 'store' | 'storeValue'> & { store: object } {
  return { store: keyValueStore(neededName(storeName), { key: serdeOf(key), value: serdeOf(value) }), storeValue: value };
}

function own(stores: Surroundings['stores']): KeyValueStore<Present, Present> {
  return stores['own'] as KeyValueStore<Present, Present>;
}

function increment(store: Pick<KeyValueStore<Present, Present>, 'get' | 'put'>, key: Present): bigint {
  const count = numberOf(store.get(key) ?? 0n) + 1n;
  store.put(key, count);
  return count;
}

function punctuated(type: 'streamTime' | 'wallClock', intervalMs: number, given: ProcessorSpec): NamedProcessor {
  return {
    ...counted(given, long),
    value: long,
    process({ key }, { stores }) {
      if (key !== null) increment(own(stores), key);
    },
    punctuator: {
      intervalMs,
      type,
      async run(timestampMs, { stores, emit }) {
        const store = own(stores);
        const entries: (readonly [Present, Present])[] = [];
        for await (const entry of store.all()) entries.push(entry);
        for (const [key, count] of entries) {
          emit(key, count, timestampMs, []);
          store.delete(key);
        }
      },
    },
  };
}
