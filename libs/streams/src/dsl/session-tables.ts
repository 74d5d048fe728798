/** How facades put tables of sessions into the topology, and what their stores must keep. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { Windowed } from '../core/windowed.js';
import { type MergingFold, openSessionsOf, SessionAggregation, type SessionWindows } from '../operators/index.js';
import { sessionWindowed } from '../serde/windowed.js';
import type { SessionStoreDefinition } from '../topology/session-store.js';
import type { GroupedParent } from './grouping.js';
import type { Emission } from './options.js';
import type { DslScope, TablePosition } from './scope.js';
import { addTable } from './tables.js';

export interface SessionTableSettings<K, V, A> {
  readonly name: string;
  readonly store: SessionStoreDefinition<NonNullable<K>, A>;
  readonly windows: SessionWindows;
  readonly emit: Emission;
  readonly fold: MergingFold<NonNullable<K>, V, A>;
}

/**
 * Adds the node of a table of sessions, which owns its store.
 * @throws InvalidConfigurationError `INVALID_OPTION` when the store does not fit the windows
 */
export function addSessionTable<K, V, A>(
  scope: DslScope,
  parent: GroupedParent<K, V>,
  { name, store, windows, emit, fold }: SessionTableSettings<K, V, A>,
): TablePosition<Windowed<NonNullable<K>>, A> {
  checkRetention(store, windows);
  const open = emit === 'onClose' ? openSessionsOf(`${store.name}-open`, store) : undefined;
  scope.topology.claimStore(store, name);
  return addTable(scope, parent, new SessionAggregation(store, windows, fold, open), {
    name,
    lineage: store.name,
    stores: open === undefined ? [store] : [store, open],
    key: sessionWindowed(store.key),
    value: store.value,
    store: undefined,
  });
}

export function checkRetention(
  { name, retentionMs }: Pick<SessionStoreDefinition<unknown, unknown>, 'name' | 'retentionMs'>,
  { gapMs, graceMs }: SessionWindows,
): void {
  if (retentionMs >= gapMs + graceMs) return;
  throw new InvalidConfigurationError(
    'INVALID_OPTION',
    `The option "retentionMs" of store "${name}" is ${retentionMs} ms: keep sessions for at least ${gapMs + graceMs} ms, which is their gap and the grace period.`,
    { store: name, option: 'retentionMs' },
  );
}
