/** One table that several streams aggregate into: each has an aggregation of its own, all on one store. */
import { assert } from '../core/assert.js';
import type { Table, TableView } from './table.js';

export class CogroupedTable<K, A> implements Table<K, A> {
  readonly isVersioned: boolean;
  readonly closesAfterMs: number | undefined;

  /** @param tables at least one; on one store, so that each has all the rows */
  constructor(private readonly tables: readonly Table<K, A>[]) {
    this.isVersioned = this.first.isVersioned;
    this.closesAfterMs = this.first.closesAfterMs;
  }

  sendOldValues(force: boolean): boolean {
    return this.tables.every((table) => table.sendOldValues(force));
  }

  view(): TableView<K, A> {
    return this.first.view();
  }

  private get first(): Table<K, A> {
    const [first] = this.tables;
    assert(first !== undefined, 'a table has at least one stream');
    return first;
  }
}
