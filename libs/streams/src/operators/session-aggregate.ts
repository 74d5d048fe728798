/** Aggregation of a stream by key and session. */
import { type Change, type Headers, noHeaders, type StreamRecord } from '../core/record.js';
import type { Windowed } from '../core/windowed.js';
import type { Processor } from '../topology/processor.js';
import type { SessionBounds, SessionEntry, SessionStoreDefinition } from '../topology/session-store.js';
import { addTo, firstAggregate, mergeWith, type MergingFold } from './fold.js';
import { type OpenSessionsDefinition, setOpenSession, takeOpenSessions } from './session-open.js';
import type { TableOperator, TableView } from './table.js';
import { hasKey, type WindowContext } from './window-table.js';
import type { SessionWindows } from './windows.js';

/**
 * A record and the sessions of its key within the gap become one session: the aggregates are merged by their ends, then the value is added. The sessions
 * that went into it are removed first, unless there is but one and it has the record's time alone. What would end further behind the stream time than
 * the gap and the grace period is late and dropped. Null keys are dropped, null values are folded. A row's timestamp is the end of its session.
 */
export class SessionAggregation<K, V, A> implements TableOperator<K | null, V, Windowed<K>, A> {
  readonly isVersioned = false;
  readonly closesAfterMs: number;
  private oldValues = false;

  /** @param open makes results come out once, when their sessions close */
  constructor(
    private readonly store: SessionStoreDefinition<K, A>,
    private readonly windows: SessionWindows,
    private readonly fold: MergingFold<K, V, A>,
    private readonly open?: OpenSessionsDefinition<K, A>,
  ) {
    this.closesAfterMs = windows.gapMs + windows.graceMs;
  }

  sendOldValues(): boolean {
    this.oldValues = true;
    return true;
  }

  view(): TableView<Windowed<K>, A> {
    const { store } = this;
    return {
      stores: [store],
      get({ key, startMs, endMs }, context) {
        const value = context.store(store).get(key, { startMs, endMs });
        return value === undefined ? undefined : { value, timestampMs: endMs };
      },
    };
  }

  readonly create = (): Processor<K | null, V, Windowed<K>, Change<A>> => ({
    process: (record: StreamRecord<K | null, V>, context: WindowContext<K, A>) => {
      if (!hasKey(record)) {
        context.drop('nullKey');
        return;
      }
      const streamTimeMs = context.advanceTime(this.store, record.timestampMs);
      const closedMs = streamTimeMs - this.closesAfterMs;
      this.add(context, record, closedMs);
      if (record.timestampMs === streamTimeMs) this.emitClosed(context, record.headers, closedMs);
    },
  });

  private add(context: WindowContext<K, A>, { key, value, timestampMs }: StreamRecord<K, V>, closedMs: number): void {
    const { fold, windows } = this;
    const { gapMs } = windows;
    const near = context.store(this.store).findSessions(key, timestampMs - gapMs, timestampMs + gapMs);
    const bounds = boundsOf(near, timestampMs);
    const merged = near.reduce<A | null>((all, session) => mergeWith(fold, all, session.value, key), firstAggregate(fold));
    if (bounds.endMs < closedMs) {
      context.drop('late');
      return;
    }
    const isRecordAlone = bounds.startMs === timestampMs && bounds.endMs === timestampMs;
    if (!isRecordAlone) for (const session of near) this.write(context, key, session, session.value, null);
    this.write(context, key, bounds, null, addTo(fold, merged, value, key));
  }

  /** Writes the row of a session and forwards the change, unless it waits for the session to close. Null as the new row removes it. */
  private write(context: WindowContext<K, A>, key: K, { startMs, endMs }: SessionBounds, oldValue: A | null, newValue: A | null): void {
    const sessions = context.store(this.store);
    const bounds = { startMs, endMs };
    if (newValue === null) sessions.remove(key, bounds);
    else if (!sessions.put(key, bounds, newValue)) context.drop('expired');
    if (this.open !== undefined) setOpenSession(context, this.open, key, bounds, newValue);
    else this.forward(context, key, bounds, { oldValue: this.oldValues ? oldValue : null, newValue, isLatest: true }, noHeaders);
  }

  private emitClosed(context: WindowContext<K, A>, headers: Headers, closedMs: number): void {
    if (this.open === undefined) return;
    const sessions = context.store(this.store);
    takeOpenSessions(context, this.open, closedMs, (key, session, newValue) => {
      // As Kafka Streams, which has deleted such a session by now.
      if (sessions.takes(session.endMs)) this.forward(context, key, session, { oldValue: null, newValue, isLatest: true }, headers);
    });
  }

  private forward(context: WindowContext<K, A>, key: K, { startMs, endMs }: SessionBounds, value: Change<A>, headers: Headers): void {
    context.forward({ key: { key, startMs, endMs }, value, timestampMs: endMs, headers });
  }
}

/** Of the session that the record and those near it become. */
function boundsOf(near: readonly SessionEntry<unknown>[], timestampMs: number): SessionBounds {
  let startMs = timestampMs;
  let endMs = timestampMs;
  for (const session of near) {
    if (session.startMs < startMs) ({ startMs } = session);
    if (session.endMs > endMs) ({ endMs } = session);
  }
  return { startMs, endMs };
}
