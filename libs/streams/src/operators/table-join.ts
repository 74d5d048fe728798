/**
 * Joins two tables row by row. Each side is a processor that reads the other side's rows; both forward to one node, which holds the result where
 * it has a store.
 */
import type { Change, StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import { isVersionedStore, putRow, type RowStore, storeView } from './rows.js';
import type { ProcessorFactory } from './stateless.js';
import type { Row, Table, TableOperator, TableView } from './table.js';

/** Which side must have a row for a result: both, the left one, any. */
export type JoinKind = 'inner' | 'left' | 'outer';

/** A side without a row is null, where the join's kind allows it; a null result is no row. */
export type RowJoiner<K, VL, VR, R> = (left: VL | null, right: VR | null, key: K) => R | null;

/** A side of a join, seen from the other one. */
interface Side<K, V, VOther, R> {
  /** Whether nothing comes of this side alone. */
  readonly needsOther: boolean;
  readonly other: TableView<K, VOther>;
  readonly joinWith: (own: V | null, other: VOther | null, key: K) => R | null;
}

export class JoinedTable<K, VL, VR, R> implements TableOperator<K, Change<R>, K, R> {
  readonly isVersioned: boolean;
  readonly closesAfterMs: number | undefined;
  private oldValues = false;
  private readonly leftView: TableView<K, VL>;
  private readonly rightView: TableView<K, VR>;

  constructor(
    private readonly left: Table<K, VL>,
    private readonly right: Table<K, VR>,
    private readonly kind: JoinKind,
    private readonly joiner: RowJoiner<K, VL, VR, R>,
    private readonly store: RowStore<K, R> | undefined,
  ) {
    this.isVersioned = store !== undefined && isVersionedStore(store);
    if (left.closesAfterMs !== undefined && right.closesAfterMs !== undefined)
      this.closesAfterMs = Math.max(left.closesAfterMs, right.closesAfterMs);
    if (kind !== 'inner') left.sendOldValues(true);
    if (kind === 'outer') right.sendOldValues(true);
    this.leftView = left.view();
    this.rightView = right.view();
  }

  sendOldValues(): boolean {
    this.left.sendOldValues(true);
    this.right.sendOldValues(true);
    this.oldValues = true;
    return true;
  }

  view(): TableView<K, R> {
    if (this.store !== undefined) return storeView(this.store);
    const { leftView, rightView } = this;
    return {
      stores: [...leftView.stores, ...rightView.stores],
      get: (key, context) => this.joinRows(leftView.get(key, context), rightView.get(key, context), key),
    };
  }

  /** The stores that `createLeft` reads. */
  get leftStores(): TableView<K, VR>['stores'] {
    return this.rightView.stores;
  }

  get rightStores(): TableView<K, VL>['stores'] {
    return this.leftView.stores;
  }

  readonly createLeft: ProcessorFactory<K, Change<VL>, K, Change<R>> = () =>
    this.side({
      needsOther: this.kind === 'inner',
      other: this.rightView,
      joinWith: (left, right, key) => this.join(left, right, key),
    });

  readonly createRight: ProcessorFactory<K, Change<VR>, K, Change<R>> = () =>
    this.side({
      needsOther: this.kind !== 'outer',
      other: this.leftView,
      joinWith: (right, left, key) => this.join(left, right, key),
    });

  /** Where both sides meet. */
  readonly create = (): Processor<K, Change<R>, K, Change<R>> => {
    const { store } = this;
    return {
      process(record: StreamRecord<K, Change<R>>, context: ProcessorContext<K, Change<R>>) {
        if (store === undefined) {
          context.forward(record);
          return;
        }
        const { key, value: change, timestampMs, headers } = record;
        const outcome = putRow(context, store, key, change.newValue, timestampMs);
        if (outcome === 'expired') return;
        context.forward({ key, value: { ...change, isLatest: outcome === 'latest' }, timestampMs, headers });
      },
    };
  };

  private side<V, VOther>({ needsOther, other, joinWith }: Side<K, V, VOther, R>): Processor<K, Change<V>, K, Change<R>> {
    const { oldValues } = this;
    return {
      process(record: StreamRecord<K, Change<V>>, context: ProcessorContext<K, Change<R>>) {
        const { key, value: change, headers } = record;
        if (!change.isLatest) {
          context.drop('outOfOrder');
          return;
        }
        const row = other.get(key, context);
        if (row === undefined && (needsOther || (change.newValue === null && change.oldValue === null))) return;
        const otherValue = row === undefined ? null : row.value;
        const newValue = joinWith(change.newValue, otherValue, key);
        const oldValue = oldValues ? joinWith(change.oldValue, otherValue, key) : null;
        context.forward({ key, value: { oldValue, newValue, isLatest: true }, timestampMs: laterOf(record, row), headers });
      },
    };
  }

  private join(left: VL | null, right: VR | null, key: K): R | null {
    const yields = this.kind === 'outer' ? left !== null || right !== null : left !== null && (this.kind === 'left' || right !== null);
    return yields ? this.joiner(left, right, key) : null;
  }

  private joinRows(left: Row<VL> | undefined, right: Row<VR> | undefined, key: K): Row<R> | undefined {
    const value = this.join(left?.value ?? null, right?.value ?? null, key);
    if (value === null) return undefined;
    return { value, timestampMs: left === undefined ? (right?.timestampMs ?? -1) : laterOf(left, right) };
  }
}

/** The timestamp of what is made of both. */
function laterOf(own: { readonly timestampMs: number }, other: { readonly timestampMs: number } | undefined): number {
  return other !== undefined && other.timestampMs > own.timestampMs ? other.timestampMs : own.timestampMs;
}
