/** What the families of operators share: the nodes made so far, the topics and stores that a scenario names. */
import {
  type AnyStoreDefinition,
  type GlobalKTable,
  type CogroupedKStream,
  type KGroupedStream,
  type KGroupedTable,
  type KStream,
  type KTable,
  type Serde,
  type SessionWindowedKStream,
  type SessionWindows,
  type SlidingWindows,
  type StreamsBuilder,
  type RecordTimes,
  type Timestamps,
  type TimeWindowedKStream,
  type TimeWindows,
  type Topic,
  topic,
  type UnlimitedWindows,
} from '@tally/streams';
import { type Operator, requiredText, textField } from './scenario.js';
import { type Data, isSameType, nullableSerdeOf, numberOrNull, type Present, serdeOf, textOf, type Type, typeNamed } from './types.js';

/** What nobody has taught the interpreter yet. */
export class NotInterpretedError extends Error {}

interface Typed {
  readonly key: Type;
  readonly value: Type;
}

export interface StreamNode extends Typed {
  readonly kind: 'stream';
  readonly stream: KStream<Data, Data>;
}

export interface TableNode extends Typed {
  readonly kind: 'table';
  readonly table: KTable<Present, Present>;
}

export interface GroupedNode extends Typed {
  readonly kind: 'grouped';
  readonly grouped: KGroupedStream<Data, Data>;
}

export interface GroupedTableNode extends Typed {
  readonly kind: 'groupedTable';
  readonly grouped: KGroupedTable<Present, Present>;
}

export interface WindowedNode extends Typed {
  readonly kind: 'windowed';
  readonly stream: TimeWindowedKStream<Data, Data>;
  readonly windows: TimeWindows | UnlimitedWindows | SlidingWindows;
  readonly emit: 'onUpdate' | 'onClose';
}

export interface SessionWindowedNode extends Typed {
  readonly kind: 'sessionWindowed';
  readonly stream: SessionWindowedKStream<Data, Data>;
  readonly windows: SessionWindows;
  readonly emit: 'onUpdate' | 'onClose';
}

export interface GlobalTableNode extends Typed {
  readonly kind: 'globalTable';
  readonly global: GlobalKTable<Present, Present>;
}

export interface CogroupedNode extends Typed {
  readonly kind: 'cogrouped';
  readonly stream: CogroupedKStream<Data, Readonly<Record<string, Data>>>;
  /** By the ids of the groupings. */
  readonly add: Readonly<Record<string, (aggregate: Present, value: Data, key: Present) => Present | null>>;
  readonly windows?: TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows;
}

export type Node =
  | StreamNode
  | TableNode
  | GroupedNode
  | GroupedTableNode
  | WindowedNode
  | SessionWindowedNode
  | CogroupedNode
  | GlobalTableNode;

/** A store that a scenario names, and how its contents are shown. */
export interface NamedStore {
  readonly definition: AnyStoreDefinition;
  readonly key: Type;
  readonly value: Type;
  /** Whether the rows of the oracle's store have a timestamp. */
  readonly timestamps: boolean;
}

/** The topics of a source. */
export function topicsOf(operator: Operator): readonly string[] {
  return (operator['topics'] as readonly string[] | undefined) ?? [requiredText(operator, 'topic')];
}

/** The number before the first comma of the value, or the partition's time. */
function timestampInValue(value: Data, _key: Data, { partitionTimeMs }: RecordTimes): number {
  const number = value === null ? null : numberOrNull(String(value).split(',')[0] ?? null);
  return number === null ? partitionTimeMs : Number(number);
}

export type BuildOperator = (operator: Operator, build: Build) => Node | undefined;

export class Build {
  readonly inputs = new Map<string, Typed & { readonly topic: Topic<Data, Data> }>();
  /** Types of the topics that are written to. */
  readonly outputs = new Map<string, Typed>();
  readonly stores = new Map<string, NamedStore>();
  private readonly nodes = new Map<string, Node>();
  /** Keys of versioned stores. */
  readonly versionedKeys = new Map<string, ReadonlyMap<string, Present>>();
  private unnamedStores = 0;

  /** Types of the topics that are read. */
  private readonly readAs = new Map<string, Typed>();

  constructor(
    readonly streams: StreamsBuilder,
    readonly topology: readonly Operator[],
    /** Tells of a call of `peek` or `foreach`. */
    readonly observe: (id: string, node: Typed, key: Data, value: Data) => void,
  ) {
    for (const operator of topology) {
      if (!['stream', 'table', 'globalTable'].includes(operator.op)) continue;
      const types = { key: typeNamed(textField(operator, 'keyType')), value: typeNamed(textField(operator, 'valueType')) };
      for (const name of topicsOf(operator)) this.readAs.set(name, types);
    }
  }

  node(id: unknown): Node {
    const node = this.nodes.get(String(id));
    if (node === undefined) throw new Error(`There is no node "${String(id)}".`);
    return node;
  }

  nodeOf<Kind extends Node['kind']>(id: unknown, kind: Kind): Extract<Node, { kind: Kind }> {
    const node = this.node(id);
    if (node.kind !== kind) throw new Error(`Node "${String(id)}" is a ${node.kind}, not a ${kind}.`);
    return node as Extract<Node, { kind: Kind }>;
  }

  put(id: string | undefined, node: Node): void {
    if (id === undefined || id === '') throw new Error('An operator has no id.');
    if (this.nodes.has(id)) throw new Error(`There are two nodes "${id}".`);
    this.nodes.set(id, node);
  }

  /** Whether the topic is read as these types, if it is read. */
  isReadAs(topicName: string, key: Type, value: Type): boolean {
    const types = this.readAs.get(topicName);
    return types === undefined || (isSameType(types.key, key) && isSameType(types.value, value));
  }

  input(name: string, key: Type, value: Type, timestamps?: string): Topic<Data, Data> {
    const options = timestamps === undefined ? {} : { timestamps: this.timestampsNamed(timestamps) };
    const input = topic(name, { key: nullableSerdeOf(key), value: nullableSerdeOf(value), ...options });
    this.inputs.set(name, { topic: input, key, value });
    return input;
  }

  /** One object for each name, so that a topic that is read twice is declared alike. */
  private timestampsNamed(name: string): Timestamps<Data, Data> {
    if (name === 'record' || name === 'logAndSkip' || name === 'usePartitionTime') return name;
    if (name === 'value') return timestampInValue;
    throw new Error(`There are no timestamps "${name}".`);
  }

  output(name: string, key: Type, value: Type): Topic<Data, Data> {
    const known = this.outputs.get(name);
    if (known !== undefined && !(isSameType(known.key, key) && isSameType(known.value, value)))
      throw new Error(`Topic "${name}" has two types.`);
    this.outputs.set(name, { key, value });
    return topic(name, { key: nullableSerdeOf(key), value: nullableSerdeOf(value) });
  }

  /** The name of an operator's store, if the scenario names one. */
  storeName(operator: Operator): string | undefined {
    return textField(operator, 'store');
  }

  /** For operators that always have a store. */
  storeNameOrOwn(operator: Operator): string {
    return this.storeName(operator) ?? `unnamed-${++this.unnamedStores}`;
  }

  /**
   * The key's serde for a versioned store, which cannot list keys whose latest row is gone: keys are remembered as they are written, as the
   * oracle does.
   */
  trackedSerde(store: string, type: Type): Serde<Present> {
    const serde = serdeOf(type);
    const keys = new Map<string, Present>();
    this.versionedKeys.set(store, keys);
    return {
      ...serde,
      serialize(key) {
        keys.set(textOf(key, type), key);
        return serde.serialize(key);
      },
    };
  }

  /** Remembers a store whose contents are part of the result, when the scenario named it. */
  showStore<D extends AnyStoreDefinition>(definition: D, key: Type, value: Type, timestamps = true): D {
    this.stores.set(definition.name, { definition, key, value, timestamps });
    return definition;
  }
}
