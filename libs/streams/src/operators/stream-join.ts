/**
 * Joins two streams: each record with those of the other side that have its key and a time within the window. A left or outer join also forwards
 * records that met no other, once none can come any more.
 *
 * 1. Each side's records are kept in a window store, for as long as one of the other side may meet them.
 * 2. What has met none is held in the buffer, until a record of the other side meets it or one of either side brings the stream time past its window.
 */
import type { StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import type { WindowStoreDefinition } from '../topology/window-store.js';
import type { JoinBuffer, JoinSide } from './join-buffer.js';
import { mapOperator, type ProcessorFactory } from './stateless.js';
import type { JoinKind } from './table-join.js';
import { type JoinWindow, UnmatchedRecords } from './unmatched-records.js';

/** A value, and of which stream. */
export interface Sided<V> {
  readonly side: JoinSide;
  readonly value: V;
}

/** `V` are the values of both streams. A side without a record is null, where the join's kind allows it; then the key may be null too. */
export type StreamJoiner<K, V, R> = (left: V | null, right: V | null, key: K | null) => R;

export interface StreamJoin<K, V, R> extends JoinWindow {
  readonly kind: JoinKind;
  readonly joiner: StreamJoiner<K, V, R>;
  readonly stores: Readonly<Record<JoinSide, WindowStoreDefinition<K, V>>>;
  /** Where left and outer joins hold what has met no other record yet. */
  readonly buffer: JoinBuffer<K, V> | undefined;
}

/** Brings the records of one side to the node where both meet. */
export function sideOperator<K, V>(side: JoinSide): ProcessorFactory<K, V, K, Sided<V>> {
  return mapOperator((value) => ({ side, value }));
}

export function streamJoinOperator<K, V, R>(join: StreamJoin<K, V, R>): ProcessorFactory<K | null, Sided<V | null>, K | null, R> {
  const processor = new StreamJoinProcessor(join);
  return () => processor;
}

/** A side, seen from its own records. */
interface Side {
  readonly name: JoinSide;
  readonly other: JoinSide;
  /** How much earlier and later a record of the other side may be. */
  readonly beforeMs: number;
  readonly afterMs: number;
  /** Its records are forwarded though they meet none. */
  readonly isKept: boolean;
}

class StreamJoinProcessor<K, V, R> implements Processor<K | null, Sided<V | null>, K | null, R> {
  private readonly sides: Readonly<Record<JoinSide, Side>>;
  /** A window without length and grace is kept for no time at all, so that nothing ever meets. */
  private readonly isEmpty: boolean;

  constructor(private readonly join: StreamJoin<K, V, R>) {
    const { kind, beforeMs, afterMs, graceMs } = join;
    this.sides = {
      left: { name: 'left', other: 'right', beforeMs, afterMs, isKept: kind !== 'inner' },
      right: { name: 'right', other: 'left', beforeMs: afterMs, afterMs: beforeMs, isKept: kind === 'outer' },
    };
    this.isEmpty = beforeMs + afterMs + graceMs === 0;
  }

  process(given: StreamRecord<K | null, Sided<V | null>>, context: ProcessorContext<K | null, R>): void {
    const { buffer } = this.join;
    const { key, timestampMs, headers } = given;
    const { value } = given.value;
    const side = this.sides[given.value.side];
    const unmatched = buffer === undefined ? undefined : new UnmatchedRecords(buffer, this.join, context, timestampMs);
    if (key !== null && value !== null) this.joinRecord(context, side, { key, value, timestampMs, headers }, unmatched);
    else if (value !== null && side.isKept) context.forward({ key, value: this.joined(side.name, value, null, key), timestampMs, headers });
    else context.drop(key === null ? 'nullKey' : 'nullValue');
  }

  private joinRecord(
    context: ProcessorContext<K | null, R>,
    side: Side,
    record: StreamRecord<K, V>,
    unmatched: UnmatchedRecords<K, V> | undefined,
  ): void {
    const { key, value, timestampMs, headers } = record;
    if (unmatched?.streamTimeMs === timestampMs) this.forwardClosed(context, unmatched, side, record);
    const hasMet = this.forwardMatches(context, unmatched, side, record);
    if (!hasMet && side.isKept && unmatched !== undefined) {
      if (Math.max(0, timestampMs + side.afterMs) >= unmatched.streamTimeMs) unmatched.hold(side.name, record);
      else context.forward({ key, value: this.joined(side.name, value, null, key), timestampMs, headers });
    }
    if (!context.store(this.join.stores[side.name]).putWithTimestamp(key, value, timestampMs, timestampMs)) context.drop('expired');
  }

  /** What has met none now that its window is closed comes out with its own time, and with the headers of the record that closed it. */
  private forwardClosed(
    context: ProcessorContext<K | null, R>,
    unmatched: UnmatchedRecords<K, V>,
    side: Side,
    { headers }: StreamRecord<K, V>,
  ): void {
    unmatched.takeClosed(side.afterMs, (ofSide, { key, value, timestampMs }) => {
      context.forward({ key, value: this.joined(ofSide, value, null, key), timestampMs, headers });
    });
  }

  private forwardMatches(
    context: ProcessorContext<K | null, R>,
    unmatched: UnmatchedRecords<K, V> | undefined,
    side: Side,
    { key, value, timestampMs, headers }: StreamRecord<K, V>,
  ): boolean {
    if (this.isEmpty) return false;
    const others = context
      .store(this.join.stores[side.other])
      .fetch(key, Math.max(0, timestampMs - side.beforeMs), Math.max(0, timestampMs + side.afterMs));
    for (const other of others) {
      if (this.sides[side.other].isKept) unmatched?.met(side.other, other.startMs, key);
      const laterMs = Math.max(timestampMs, other.startMs);
      context.forward({ key, value: this.joined(side.name, value, other.value, key), timestampMs: laterMs, headers });
    }
    return others.length > 0;
  }

  private joined(side: JoinSide, own: V, other: V | null, key: K | null): R {
    return side === 'left' ? this.join.joiner(own, other, key) : this.join.joiner(other, own, key);
  }
}
