/**
 * What the operators behind a table may ask of it while the topology is declared.
 *
 * A table is either materialized, with a store that holds its rows, or a view, computed from the table before it. Which records come out
 * (deletions above all) depends on what its changes carry, so a table knows it itself.
 */
import type { Change } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import type { AnyStoreDefinition } from '../topology/store-definition.js';

/** A row and when it was written, in milliseconds since the epoch. */
export interface Row<V> {
  readonly value: V;
  readonly timestampMs: number;
}

/** A processor's context as far as reading rows goes. */
export type ReadingContext = Pick<ProcessorContext, 'store'>;

/** Reads rows while a record of another node is in hand. */
export interface TableView<K, V> {
  /** What the reading node has to declare. */
  readonly stores: readonly AnyStoreDefinition[];
  get(key: K, context: ReadingContext): Row<V> | undefined;
  /** The row as it was then; only where the rows come from a versioned store. */
  getAsOf?(key: K, timestampMs: number, context: ReadingContext): Row<V> | undefined;
}

export interface Table<K, V> {
  /** It keeps several versions of a row, or is a view of a table that does: its changes may come out of order. */
  readonly isVersioned: boolean;
  /** Where rows belong to windows: how long after its end, in the table's stream time, a window may still change. */
  readonly closesAfterMs: number | undefined;
  /**
   * Makes its changes carry the old row; true when they will. A view asks the table before it.
   * @param force a source table without a store gets one for this.
   */
  sendOldValues(force: boolean): boolean;
  /** How its rows are read. A source table without a store gets one for this. */
  view(): TableView<K, V>;
}

/** A table and the processor that makes its changes from what its node is given. */
export interface TableOperator<KIn, VIn, K, V> extends Table<K, V> {
  /** The processor of one task; called once the topology is built. */
  readonly create: () => Processor<KIn, VIn, K, Change<V>>;
}

/** A view whose rows are made of another one's, row by row. */
export function mapView<K, VIn, V>(
  view: TableView<K, VIn>,
  map: (row: Row<VIn> | undefined, key: K, context: ReadingContext) => Row<V> | undefined,
): TableView<K, V> {
  const { stores } = view;
  const get = (key: K, context: ReadingContext): Row<V> | undefined => map(view.get(key, context), key, context);
  if (view.getAsOf === undefined) return { stores, get };
  return { stores, get, getAsOf: (key, timestampMs, context) => map(view.getAsOf?.(key, timestampMs, context), key, context) };
}
