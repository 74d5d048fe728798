/** Joins each record of a stream with the row that a table has for its key: as it is, or, of a versioned table, as it was at the record's time. */
import type { StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import type { JoinBuffer } from './join-buffer.js';
import type { ProcessorFactory } from './stateless.js';
import type { TableView } from './table.js';

/** The row is null where there is none, in left joins; then the key may be null too. */
export type StreamTableJoiner<K, V, VT, R> = (value: V, row: VT | null, key: K | null) => R;

export interface StreamTableJoin<K, V, VT, R> {
  readonly kind: 'inner' | 'left';
  readonly table: TableView<K, VT>;
  readonly joiner: StreamTableJoiner<K, V, VT, R>;
}

type Input<K, V> = StreamRecord<K | null, V | null>;

/** Records without a value are dropped, and so are those without a key, unless the join is a left one. */
export function streamTableJoinOperator<K, V, VT, R>(
  join: StreamTableJoin<K, V, VT, R>,
): ProcessorFactory<K | null, V | null, K | null, R> {
  const processor: Processor<K | null, V | null, K | null, R> = {
    process(record: Input<K, V>, context: ProcessorContext<K | null, R>) {
      const { key, value } = record;
      if (value === null) context.drop('nullValue');
      else if (key === null && join.kind === 'inner') context.drop('nullKey');
      else forwardJoined(join, { ...record, value }, context);
    },
  };
  return () => processor;
}

/**
 * Holds records back until the stream time has passed theirs by the grace period, so that late updates of the table are there. They come out in the
 * order of their times. A record that is later than that is joined at once. Those without a key are dropped: the buffer has no place for them.
 */
export function gracefulStreamTableJoinOperator<K, V, VT, R>(
  join: StreamTableJoin<K, V, VT, R>,
  buffer: JoinBuffer<K, V>,
  graceMs: number,
): ProcessorFactory<K | null, V | null, K | null, R> {
  const processor: Processor<K | null, V | null, K | null, R> = {
    process(record: Input<K, V>, context: ProcessorContext<K | null, R>) {
      const { key, value, timestampMs } = record;
      if (key === null || value === null) {
        context.drop(key === null ? 'nullKey' : 'nullValue');
        return;
      }
      const dueMs = context.advanceTime(buffer.store, timestampMs) - graceMs;
      if (timestampMs < dueMs) {
        forwardJoined(join, { ...record, key, value }, context);
        return;
      }
      const held = buffer.open(context);
      held.add('left', { ...record, key, value });
      for (let first = held.first('left'); first !== undefined && first.timeMs <= dueMs; first = held.first('left')) {
        held.remove(first);
        forwardJoined(join, held.read(first), context);
      }
    },
  };
  return () => processor;
}

function forwardJoined<K, V, VT, R>(
  { kind, table, joiner }: StreamTableJoin<K, V, VT, R>,
  { key, value, timestampMs, headers }: StreamRecord<K | null, V>,
  context: ProcessorContext<K | null, R>,
): void {
  const row = key === null ? undefined : rowAt(table, key, timestampMs, context);
  if (row === undefined && kind === 'inner') return;
  context.forward({ key, value: joiner(value, row?.value ?? null, key), timestampMs, headers });
}

function rowAt<K, VT>(table: TableView<K, VT>, key: K, timestampMs: number, context: ProcessorContext): ReturnType<typeof table.get> {
  return table.getAsOf === undefined ? table.get(key, context) : table.getAsOf(key, timestampMs, context);
}
