/** How facades put windowed tables into the topology, and what their stores must keep. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { Windowed } from '../core/windowed.js';
import {
  type Fold,
  openWindowsOf,
  type OpenWindowsDefinition,
  SlidingWindowAggregation,
  type SlidingWindows,
  type TimeWindows,
  type UnlimitedWindows,
  WindowAggregation,
  windowGrid,
  type WindowTable,
} from '../operators/index.js';
import { timeWindowed } from '../serde/windowed.js';
import type { WindowStoreDefinition } from '../topology/window-store.js';
import type { GroupedParent } from './grouping.js';
import type { Emission } from './options.js';
import type { DslScope, TablePosition } from './scope.js';
import { addTable } from './tables.js';

/** Windows whose results are kept in window stores. */
export type StartingWindows = TimeWindows | UnlimitedWindows | SlidingWindows;

/** From the start of a window to its end; `Infinity` for windows that never end. */
export function windowSizeMs(windows: StartingWindows): number {
  return windows.kind === 'sliding' ? windows.differenceMs : windowGrid(windows).sizeMs;
}

/** The least that a store must keep of these windows. */
function retentionMsMin(windows: StartingWindows, emit: Emission): number {
  if (windows.kind === 'unlimited') return 1;
  // A sliding window is begun with what the one before it holds.
  const sizeMs = windows.kind === 'sliding' ? 2 * windows.differenceMs : windows.sizeMs;
  // What is emitted at the close is read at that very moment.
  return sizeMs + windows.graceMs + (emit === 'onClose' ? 1 : 0);
}

/** Times of a store that the user gave no handle of. */
export function ownWindowStoreTimes(
  windows: StartingWindows,
  emit: Emission,
): { readonly retentionMs: number; readonly windowSizeMs: number } {
  const sizeMs = windowSizeMs(windows);
  if (sizeMs === Number.POSITIVE_INFINITY) return { retentionMs: Number.MAX_SAFE_INTEGER, windowSizeMs: Number.MAX_SAFE_INTEGER };
  return { retentionMs: retentionMsMin(windows, emit), windowSizeMs: sizeMs };
}

/**
 * The store as the topology declares it: one whose handle says nothing of the length of its windows takes theirs.
 * @throws InvalidConfigurationError `INVALID_OPTION` when it does not fit the windows
 */
export function windowStoreFor<K, A>(
  store: WindowStoreDefinition<K, A>,
  windows: StartingWindows,
  emit: Emission,
): WindowStoreDefinition<K, A> {
  const least = retentionMsMin(windows, emit);
  const { name, retentionMs, retainDuplicates } = store;
  if (retainDuplicates) throw unfit(name, 'retainDuplicates', 'is true, but an aggregation keeps one value for each window: leave it out.');
  if (retentionMs < least) {
    const parts = `${windows.kind === 'sliding' ? 'twice the difference' : 'the size'} of its windows and the grace period${emit === 'onClose' ? ', and one more because windows are read when they close' : ''}`;
    throw unfit(name, 'retentionMs', `is ${retentionMs} ms: keep windows for at least ${least} ms, which is ${parts}.`);
  }
  const sizeMs = windowSizeMs(windows);
  if (store.windowSizeMs === sizeMs || sizeMs === Number.POSITIVE_INFINITY) return store;
  if (store.windowSizeMs !== retentionMs) {
    throw unfit(
      name,
      'windowSizeMs',
      `is ${store.windowSizeMs} ms, but its windows are ${sizeMs} ms long: declare it so, or leave it out.`,
    );
  }
  return Object.freeze({ ...store, windowSizeMs: sizeMs });
}

/** Processor of a windowed table over a window store. */
export function windowTable<K, V, A>(
  store: WindowStoreDefinition<K, A>,
  windows: StartingWindows,
  fold: Fold<K, V, A>,
  open: OpenWindowsDefinition<K> | undefined,
): WindowTable<K, V | null, A> {
  if (windows.kind === 'sliding') return new SlidingWindowAggregation(store, windows, fold, open);
  return new WindowAggregation(store, windowGrid(windows), fold, open);
}

/** @throws InvalidConfigurationError `INVALID_OPTION` */
function openWindows<K>(
  store: Pick<WindowStoreDefinition<K, unknown>, 'name' | 'key' | 'changelog'>,
  windows: StartingWindows,
  emit: Emission,
): OpenWindowsDefinition<K> | undefined {
  if (emit !== 'onClose') return undefined;
  if (windows.kind !== 'unlimited') return openWindowsOf(`${store.name}-open`, store);
  throw unfit(store.name, 'emit', 'is "onClose", but unlimited windows never close: emit them "onUpdate".');
}

export interface WindowTableSettings<K, V, A> {
  readonly name: string;
  readonly store: WindowStoreDefinition<NonNullable<K>, A>;
  readonly windows: StartingWindows;
  readonly emit: Emission;
  readonly fold: Fold<NonNullable<K>, V, A>;
}

/** Adds the node of a windowed table, which owns its store. */
export function addWindowTable<K, V, A>(
  scope: DslScope,
  parent: GroupedParent<K, V>,
  { name, store, windows, emit, fold }: WindowTableSettings<K, V, A>,
): TablePosition<Windowed<NonNullable<K>>, A> {
  const kept = windowStoreFor(store, windows, emit);
  const open = openWindows(kept, windows, emit);
  scope.topology.claimStore(kept, name);
  return addTable(scope, parent, windowTable(kept, windows, fold, open), {
    name,
    lineage: kept.name,
    stores: open === undefined ? [kept] : [kept, open],
    key: timeWindowed(kept.key, { sizeMs: windowSizeMs(windows) }),
    value: kept.value,
    store: undefined,
  });
}

function unfit(store: string, option: string, problem: string): InvalidConfigurationError {
  return new InvalidConfigurationError('INVALID_OPTION', `The option "${option}" of store "${store}" ${problem}`, { store, option });
}
