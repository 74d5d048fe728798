/** Aggregations by window and by session. */
import {
  hopping,
  session,
  sessionStore,
  type SessionStoreDefinition,
  type SessionWindows,
  sliding,
  type SlidingWindows,
  type TimeWindows,
  tumbling,
  unlimited,
  type UnlimitedWindows,
  windowStore,
  type WindowStoreDefinition,
} from '@tally/streams';
import { fold } from '../functions.js';
import type { Build, BuildOperator, SessionWindowedNode, TableNode, WindowedNode } from '../node.js';
import { numberField, type Operator, requiredText, textField } from '../scenario.js';
import { long, type Present, serdeOf, type Type } from '../types.js';
import { aggregateType, initialOf, withoutKey } from './aggregations.js';

type Emit = 'onUpdate' | 'onClose';

export const windowings: Readonly<Record<string, BuildOperator>> = {
  windowedBy(operator, build) {
    const { grouped, key, value } = build.nodeOf(operator.from, 'grouped');
    const windows = windowsOf(operator);
    const emit = emission(operator);
    if (windows.kind === 'session') return { kind: 'sessionWindowed', stream: grouped.windowedBy(windows), windows, emit, key, value };
    // Sliding windows skip null values, which the type of a scenario's streams does not say.
    const stream =
      windows.kind === 'sliding' ? (grouped.windowedBy(windows) as unknown as WindowedNode['stream']) : grouped.windowedBy(windows);
    return { kind: 'windowed', stream, windows, emit, key, value };
  },
};

export const windowedAggregations: Readonly<Record<string, BuildOperator>> = {
  count(operator, build) {
    const { stream, windows, emit, key } = build.nodeOf(operator.from, 'windowed');
    const store = windowStoreOf(operator, build, { windows, emit, key, value: long }) as WindowStoreDefinition<Present, bigint>;
    return tableOf(stream.count(store, { emit }), windowKey(windows, key), long);
  },

  reduce(operator, build) {
    const node = build.nodeOf(operator.from, 'windowed');
    const { stream, windows, emit, key, value } = node;
    const add = withoutKey(fold(requiredText(operator, 'reducer'), value, value, key));
    return tableOf(stream.reduce(windowStoreOf(operator, build, node), add, { emit }), windowKey(windows, key), value);
  },

  aggregate(operator, build) {
    const { stream, windows, emit, key, value } = build.nodeOf(operator.from, 'windowed');
    const type = aggregateType(operator);
    const store = windowStoreOf(operator, build, { windows, emit, key, value: type });
    const aggregation = { initial: initialOf(operator, type), add: fold(requiredText(operator, 'aggregator'), type, value, key) };
    return tableOf(stream.aggregate(store, aggregation, { emit }), windowKey(windows, key), type);
  },
};

export const sessionAggregations: Readonly<Record<string, BuildOperator>> = {
  count(operator, build) {
    const { stream, windows, emit, key } = build.nodeOf(operator.from, 'sessionWindowed');
    const store = sessionStoreOf(operator, build, { windows, key, value: long }) as SessionStoreDefinition<Present, bigint>;
    return tableOf(stream.count(store, { emit }), { kind: 'session', inner: key }, long);
  },

  reduce(operator, build) {
    const node = build.nodeOf(operator.from, 'sessionWindowed');
    const { stream, emit, key, value } = node;
    const add = withoutKey(fold(requiredText(operator, 'reducer'), value, value, key));
    return tableOf(stream.reduce(sessionStoreOf(operator, build, node), add, { emit }), { kind: 'session', inner: key }, value);
  },

  aggregate(operator, build) {
    const { stream, windows, emit, key, value } = build.nodeOf(operator.from, 'sessionWindowed');
    const type = aggregateType(operator);
    const store = sessionStoreOf(operator, build, { windows, key, value: type });
    const aggregation = {
      initial: initialOf(operator, type),
      add: fold(requiredText(operator, 'aggregator'), type, value, key),
      merge: mergerOf(operator, type, key),
    };
    return tableOf(stream.aggregate(store, aggregation, { emit }), { kind: 'session', inner: key }, type);
  },
};

export function windowsOf(operator: Operator): TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows {
  const window = operator['window'] as Operator;
  const number = (field: string): number => numberField(window, field) ?? Number.NaN;
  const graceMs = numberField(window, 'graceMs') ?? 0;
  const type = requiredText(window, 'type');
  switch (type) {
    case 'time': {
      const sizeMs = number('sizeMs');
      const advanceMs = numberField(window, 'advanceMs');
      return advanceMs === undefined ? tumbling({ sizeMs, graceMs }) : hopping({ sizeMs, advanceMs, graceMs });
    }
    case 'sliding':
      return sliding({ differenceMs: number('diffMs'), graceMs });
    case 'session':
      return session({ gapMs: number('gapMs'), graceMs });
    case 'unlimited':
      return unlimited({ startMs: numberField(window, 'startMs') ?? 0 });
    default:
      throw new Error(`There are no windows of type "${type}".`);
  }
}

function emission(operator: Operator): Emit {
  return textField(operator, 'emit') === 'onWindowClose' ? 'onClose' : 'onUpdate';
}

export function windowKey(windows: WindowedNode['windows'], inner: Type): Type {
  return { kind: 'time', inner, sizeMs: windowSizeMs(windows) };
}

function windowSizeMs(windows: WindowedNode['windows']): number {
  if (windows.kind === 'unlimited') return Number.POSITIVE_INFINITY;
  return windows.kind === 'sliding' ? windows.differenceMs : windows.sizeMs;
}

/** What the oracle's store keeps when the scenario says nothing. */
function defaultRetentionMs(windows: WindowedNode['windows']): number {
  if (windows.kind === 'unlimited') return Number.MAX_SAFE_INTEGER;
  return (windows.kind === 'sliding' ? 2 * windows.differenceMs : windows.sizeMs) + windows.graceMs;
}

export function windowStoreOf(
  operator: Operator,
  build: Build,
  { windows, emit, key, value }: Pick<WindowedNode, 'windows' | 'emit' | 'key' | 'value'>,
): WindowStoreDefinition<Present, Present> {
  // The oracle's stores show one millisecond more where windows are emitted when they close.
  const retentionMs = (numberField(operator, 'retentionMs') ?? defaultRetentionMs(windows)) + (emit === 'onClose' ? 1 : 0);
  const options = { key: serdeOf(key), value: serdeOf(value), retentionMs };
  const store = windowStore(build.storeNameOrOwn(operator), {
    ...options,
    windowSizeMs: Math.min(windowSizeMs(windows), Number.MAX_SAFE_INTEGER),
  });
  return build.storeName(operator) === undefined ? store : build.showStore(store, key, value);
}

export function sessionStoreOf(
  operator: Operator,
  build: Build,
  { windows, key, value }: Pick<SessionWindowedNode, 'windows' | 'key' | 'value'>,
): SessionStoreDefinition<Present, Present> {
  const retentionMs = numberField(operator, 'retentionMs') ?? windows.gapMs + windows.graceMs;
  const store = sessionStore(build.storeNameOrOwn(operator), { key: serdeOf(key), value: serdeOf(value), retentionMs });
  return build.storeName(operator) === undefined ? store : build.showStore(store, key, value);
}

/** The two aggregates are a merger's arguments, both of its type. */
export function mergerOf(operator: Operator, type: Type, key: Type): (left: Present, right: Present, key: Present) => Present {
  // A merger may give null here, which the types of applications rule out.
  return fold(requiredText(operator, 'merger'), type, type, key) as (left: Present, right: Present, key: Present) => Present;
}

function tableOf(table: unknown, key: Type, value: Type): TableNode {
  return { kind: 'table', table: table as TableNode['table'], key, value };
}
