/** A table that holds its changes back for a while, and forwards the last one of each key alone. */
import { TallyError } from '../core/errors.js';
import type { Change, StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import type { BufferTotals, OpenSuppressBuffer, SuppressBuffer } from './suppress-buffer.js';
import type { ReadingContext, Row, Table, TableOperator, TableView } from './table.js';

export interface Suppression<K> {
  /** For messages. */
  readonly name: string;
  /** By which time a change is buffered: it is forwarded once the stream time has come as far and `waitMs` further. */
  readonly timeOf: (key: K, timestampMs: number) => number;
  readonly waitMs: number;
  readonly recordsMax: number;
  readonly bytesMax: number;
  readonly whenFull: 'emitEarly' | 'shutDown';
  /** Deletions are not forwarded: nobody downstream has seen the row. */
  readonly dropsDeletions: boolean;
}

/** The buffer holds more than it may: a person has to decide whether it may hold more, or emit early. */
export class SuppressionBufferFullError extends TallyError {
  constructor({ name, recordsMax, bytesMax }: Suppression<never>, { records, bytes }: BufferTotals) {
    super({
      code: 'SUPPRESSION_BUFFER_FULL',
      kind: 'invalid',
      message:
        `The buffer of "${name}" is full: it holds ${records} records of ${recordsMax} and ${bytes} bytes of ${bytesMax}. ` +
        `Raise recordsMax or bytesMax, or let it emit early: whenFull: 'emitEarly'.`,
      place: { node: name },
    });
  }
}

export class SuppressedTable<K, V> implements TableOperator<K, Change<V>, K, V> {
  readonly isVersioned = false;
  readonly closesAfterMs: number | undefined;

  constructor(
    private readonly parent: Table<K, V>,
    private readonly buffer: SuppressBuffer<K, V>,
    private readonly suppression: Suppression<K>,
  ) {
    this.closesAfterMs = parent.closesAfterMs;
    // What is downstream while a change is held back is the row of before.
    parent.sendOldValues(true);
  }

  sendOldValues(): boolean {
    return true;
  }

  /** What has been forwarded: the row of before while a change is held back, whose time nobody knows. */
  view(): TableView<K, V> {
    const { buffer } = this;
    const view = this.parent.view();
    return {
      stores: [buffer.store, ...view.stores],
      get(key: K, context: ReadingContext): Row<V> | undefined {
        const held = buffer.open(context).priorValue(key);
        if (held === undefined) return view.get(key, context);
        return held.value === null ? undefined : { value: held.value, timestampMs: -1 };
      },
    };
  }

  readonly create = (): Processor<K, Change<V>, K, Change<V>> => {
    const { suppression, buffer } = this;
    const { timeOf, waitMs, dropsDeletions } = suppression;
    return {
      process(record: StreamRecord<K, Change<V>>, context: ProcessorContext<K, Change<V>>) {
        const streamTimeMs = context.advanceTime(buffer.store, record.timestampMs);
        const held = buffer.open(context);
        held.put(timeOf(record.key, record.timestampMs), record);
        forwardWhile(held, context, dropsDeletions, (timeMs) => timeMs <= streamTimeMs - waitMs);
        makeRoom(held, context, suppression);
      },
    };
  };
}

/** A change leaves the buffer when it has been forwarded: until then the row of before is downstream. */
function forwardWhile<K, V>(
  held: OpenSuppressBuffer<K, V>,
  context: ProcessorContext<K, Change<V>>,
  dropsDeletions: boolean,
  isDue: (timeMs: number) => boolean,
): void {
  for (let first = held.first(); first !== undefined && isDue(first.timeMs); first = held.first()) {
    if (first.record.value.newValue !== null || !dropsDeletions) context.forward(first.record);
    held.remove(first);
  }
}

function makeRoom<K, V>(held: OpenSuppressBuffer<K, V>, context: ProcessorContext<K, Change<V>>, suppression: Suppression<K>): void {
  const { recordsMax, bytesMax, whenFull, dropsDeletions } = suppression;
  if (recordsMax === Number.POSITIVE_INFINITY && bytesMax === Number.POSITIVE_INFINITY) return;
  const isFull = ({ records, bytes }: BufferTotals): boolean => records > recordsMax || bytes > bytesMax;
  if (!isFull(held.totals)) return;
  if (whenFull === 'shutDown') throw new SuppressionBufferFullError(suppression, held.totals);
  forwardWhile(held, context, dropsDeletions, () => isFull(held.totals));
}
