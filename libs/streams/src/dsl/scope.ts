/** What the facades of one builder share: the topology that they add to, and how they name what the user left unnamed. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { Change } from '../core/record.js';
import type { Table } from '../operators/index.js';
import type { AnySerde } from '../serde/serde.js';
import type { NodeHandle } from '../topology/handles.js';
import type { TopologyBuilder } from '../topology/topology-builder.js';

/**
 * Generated names are made of a prefix, what the operator works on (a topic, a store, or the operator before it that has an explicit
 * name) and the operator. A number is added only where that is taken, so a name does not shift when the topology grows elsewhere.
 */
export class DslScope {
  constructor(
    readonly topology: TopologyBuilder,
    private readonly namePrefix: string | undefined,
  ) {}

  /** The explicit name, or a generated one that is free. */
  name(explicit: string | undefined, lineage: string, operator: string): string {
    if (explicit !== undefined) return explicit;
    const base = this.namePrefix === undefined ? `${lineage}-${operator}` : `${this.namePrefix}-${lineage}-${operator}`;
    return this.free(base);
  }

  /** The name, with a number behind it where it is taken. */
  free(base: string): string {
    let name = base;
    for (let ordinal = 2; this.topology.isTaken(name); ordinal += 1) name = `${base}-${ordinal}`;
    return name;
  }

  /** Lets `build()` fail: the operator cannot work without the serde, for the reason given. */
  reportMissingSerde(operator: string, which: 'key' | 'value', reason: string): void {
    this.topology.reportProblem(
      new InvalidConfigurationError(
        'TOPOLOGY_SERDE_MISSING',
        `Operator "${operator}" needs the ${which}'s serde, because ${reason}. Give it where the ${which} is made, for example ` +
          `${which === 'key' ? 'selectKey(f, { key: string() })' : 'map(f, { value: json() })'}, or with groupByKey({ ${which} }).`,
        { node: operator },
      ),
    );
  }
}

/** Where a table stands; `value` is the serde of its rows. */
export interface TablePosition<K, V> extends Position<K, Change<V>> {
  readonly table: Table<K, V>;
}

/** Where a facade stands: its node, and what is known about the records there. Serdes are those of its own `K` and `V`, or unknown. */
export interface Position<K, V> {
  readonly scope: DslScope;
  readonly node: NodeHandle<K, V>;
  /** Begins the generated names of what follows. */
  readonly lineage: string;
  readonly key: AnySerde | undefined;
  readonly value: AnySerde | undefined;
  /** The key was replaced since the records were last partitioned by it. */
  readonly rekeyed: boolean;
}
