/** Aggregation of a stream by key and time window: tumbling, hopping and unlimited windows. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Windowed } from '../core/windowed.js';
import type { Processor } from '../topology/processor.js';
import type { WindowStoreDefinition } from '../topology/window-store.js';
import { addTo, firstAggregate, type Fold } from './fold.js';
import type { OpenWindowsDefinition } from './window-open.js';
import { hasKey, type WindowContext, WindowTable } from './window-table.js';
import type { WindowGrid } from './windows.js';

/**
 * Folds each record into all the windows that it falls into, first to last. A window is closed once the stream time has reached its end and its grace
 * period; it takes no record then, which counts as dropped for each such window. Null keys are dropped, null values are folded.
 */
export class WindowAggregation<K, V, A> extends WindowTable<K, V, A> {
  constructor(
    store: WindowStoreDefinition<K, A>,
    private readonly windows: WindowGrid,
    private readonly fold: Fold<K, V, A>,
    open?: OpenWindowsDefinition<K>,
  ) {
    super(store, windows.sizeMs, windows.sizeMs === Number.POSITIVE_INFINITY ? undefined : windows.graceMs, open);
  }

  readonly create = (): Processor<K | null, V, Windowed<K>, Change<A>> => {
    const { sizeMs, advanceMs, graceMs } = this.windows;
    return {
      process: (record: StreamRecord<K | null, V>, context: WindowContext<K, A>) => {
        const { timestampMs } = record;
        if (!hasKey(record)) {
          context.drop('nullKey');
          return;
        }
        const streamTimeMs = context.advanceTime(this.store, timestampMs);
        const closedMs = streamTimeMs - graceMs;
        for (let startMs = this.windows.firstStartMs(timestampMs); startMs <= timestampMs; startMs += advanceMs) {
          if (startMs + sizeMs > closedMs) this.update(context, record, startMs);
          else context.drop('late');
        }
        if (timestampMs === streamTimeMs) this.emitClosed(context, record, closedMs - sizeMs);
      },
    };
  };

  private update(context: WindowContext<K, A>, record: StreamRecord<K, V>, startMs: number): void {
    const { fold } = this;
    const { key, value, timestampMs } = record;
    const stored = context.store(this.store).getWithTimestamp(key, startMs);
    if (stored === undefined) this.expectClose(context, key, startMs);
    const oldValue = stored === undefined ? firstAggregate(fold) : stored.value;
    const newRow = {
      value: addTo(fold, oldValue, value, key),
      timestampMs: stored !== undefined && stored.timestampMs > timestampMs ? stored.timestampMs : timestampMs,
    };
    this.put(context, record, startMs, oldValue, newRow);
  }
}
