/** A stream grouped by its key, as all of its aggregations see it. */
import { bytes } from '../serde/bytes.js';
import { withoutNull } from '../serde/nullable.js';
import type { Serde } from '../serde/serde.js';
import type { NodeHandle } from '../topology/handles.js';
import type { AnyStoreDefinition } from '../topology/store-definition.js';
import { repartition } from './repartition.js';
import type { DslScope, Position } from './scope.js';

/** Where the records of a grouping come from. Functions of aggregations see `V`. */
export type GroupedParent<K, V> = NodeHandle<NonNullable<K> | null, V>;

export class Grouping<K, V> {
  private grouped: NodeHandle<NonNullable<K>, V> | undefined;

  constructor(
    private readonly at: Position<K, V>,
    private readonly name: string | undefined,
  ) {}

  get scope(): DslScope {
    return this.at.scope;
  }

  /** Its repartition topic is still to be made, and will be called like the store of its first aggregation, for nothing else names it. */
  get needsName(): boolean {
    return this.at.rekeyed && this.name === undefined && this.grouped === undefined;
  }

  /** The stream itself, or what comes back from its repartition topic, which all aggregations share; made with the first one. */
  partitionedByKey(store: AnyStoreDefinition): GroupedParent<K, V> {
    const { scope, node, rekeyed, key = store.key, value } = this.at;
    if (!rekeyed) return node as GroupedParent<K, V>;
    this.grouped ??= repartition(this.at, { name: this.name ?? scope.free(store.name), key, value });
    return this.grouped;
  }

  /** What a store is made with that the user gave no handle of. */
  ownStore(operator: string, explicit: string | undefined): { readonly name: string; readonly key: Serde<NonNullable<K>> } {
    const { scope, lineage } = this.at;
    const name = scope.name(explicit, this.name ?? lineage, operator);
    if (this.at.key === undefined) scope.reportMissingSerde(name, 'key', 'it keeps a store of its own');
    return { name, key: withoutNull(this.at.key ?? bytes()) as Serde<NonNullable<K>> };
  }
}
