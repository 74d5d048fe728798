/**
 * Sessions that are emitted when they close, as long as they are open: by their ends, so that what is due is found by point reads. What was emitted
 * is no longer there: the store is the progress of the emission, and commits and is restored with the rest. The aggregates are in it, for the session
 * store does not show them any more: what closes is at the end of the retention.
 */
import { type TimeOrdered, timeOrdered } from '../serde/time-ordered.js';
import type { ProcessorContext } from '../topology/processor.js';
import type { SessionBounds, SessionStoreDefinition } from '../topology/session-store.js';
import { type SortedStoreDefinition, sortedStore } from '../topology/sorted-store.js';
import { inexactKey } from './exact-key.js';

/** By end, then by start. */
export type OpenSessionsDefinition<K, A> = SortedStoreDefinition<TimeOrdered<TimeOrdered<K>>, A>;

export function openSessionsOf<K, A>(name: string, sessions: SessionStoreDefinition<K, A>): OpenSessionsDefinition<K, A> {
  const { key, value, version, migrate, changelog } = sessions;
  return sortedStore(name, {
    key: timeOrdered(timeOrdered(key)),
    value,
    version,
    changelog,
    ...(migrate === undefined ? {} : { migrate }),
  });
}

/** Null as the aggregate for a session that is no more. */
export function setOpenSession<K, A>(
  context: ProcessorContext,
  open: OpenSessionsDefinition<K, A>,
  key: K,
  { startMs, endMs }: SessionBounds,
  aggregate: A | null,
): void {
  const sessions = context.store(open);
  const place = { timeMs: endMs, key: { timeMs: startMs, key } };
  if (aggregate === null) sessions.delete(place);
  else sessions.put(place, aggregate);
}

/** Takes out those that end before, by end, by start, then by the bytes of their keys. */
export function takeOpenSessions<K, A>(
  context: ProcessorContext,
  open: OpenSessionsDefinition<K, A>,
  closedMs: number,
  take: (key: K, session: SessionBounds, aggregate: A) => void,
): void {
  const sessions = context.store(open);
  for (let next = sessions.first(); next !== undefined && next[0].timeMs < closedMs; next = sessions.first()) {
    const [place, aggregate] = next;
    if (!sessions.delete(place)) throw inexactKey(open);
    take(place.key.key, { startMs: place.key.timeMs, endMs: place.timeMs }, aggregate);
  }
}
