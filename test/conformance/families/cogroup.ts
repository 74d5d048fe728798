/** Several grouped streams that are aggregated together. */
import type { KGroupedStream } from '@tally/streams';
import { type Fold, fold } from '../functions.js';
import type { BuildOperator, TableNode } from '../node.js';
import { textField } from '../scenario.js';
import { type Data, typeNamed } from '../types.js';
import { aggregateStore, initialOf } from './aggregations.js';
import { mergerOf, sessionStoreOf, windowKey, windowsOf, windowStoreOf } from './windows.js';

interface Part {
  readonly from: string;
  readonly aggregator: string;
}

export const cogroup: BuildOperator = (operator, build) => {
  const value = typeNamed(textField(operator, 'type'));
  const groups: Record<string, KGroupedStream<Data, Data>> = {};
  const add: Record<string, Fold> = {};
  const parts = operator['streams'] as readonly Part[];
  for (const { from, aggregator } of parts) {
    const node = build.nodeOf(from, 'grouped');
    groups[from] = node.grouped;
    add[from] = fold(aggregator, value, node.value, node.key);
  }
  const { key } = build.nodeOf(parts[0]?.from, 'grouped');
  return { kind: 'cogrouped', stream: build.streams.cogroup(groups), add, key, value };
};

export const cogroups: Readonly<Record<string, BuildOperator>> = {
  windowedBy(operator, build) {
    return { ...build.nodeOf(operator.from, 'cogrouped'), windows: windowsOf(operator) };
  },

  aggregate(operator, build) {
    const { stream, windows, add, key, value } = build.nodeOf(operator.from, 'cogrouped');
    const initial = initialOf(operator, value);
    if (windows === undefined) {
      const table = stream.aggregate(aggregateStore(operator, build, key, value), { initial, add });
      return { kind: 'table', table, key, value };
    }
    if (windows.kind === 'session') {
      const store = sessionStoreOf(operator, build, { windows, key, value });
      const table = stream.windowedBy(windows).aggregate(store, { initial, add, merge: mergerOf(operator, value, key) });
      return { kind: 'table', table: table as unknown as TableNode['table'], key: { kind: 'session', inner: key }, value };
    }
    const store = windowStoreOf(operator, build, { windows, emit: 'onUpdate', key, value });
    // Sliding windows skip null values, which the type of a scenario's streams does not say.
    const windowed = stream.windowedBy(windows as Extract<typeof windows, { kind: 'time' }>);
    const table = windowed.aggregate(store, { initial, add });
    return { kind: 'table', table: table as unknown as TableNode['table'], key: windowKey(windows, key), value };
  },
};
