import { type StreamsTopology, Topology } from '@tally/nestjs';
import type { InitContext, Processor, StreamsBuilder } from '@tally/streams';
import { payments, seenEvents } from './ledger.topics.js';
import type { Payment } from './payment.js';
import { SeenEvents } from './seen-events.js';

/** So often in a window of stream time some of what is older is deleted. */
const timesInWindow = 200;
/** So many ids are deleted each time, whatever has come since: they work off what a restart has left. */
const idsAtLeast = 10_000;

/** Keeps the memory of event ids bounded, little by little. */
@Topology('forgetting')
export class ForgettingTopology implements StreamsTopology {
  constructor(private readonly seen: SeenEvents) {}

  build(streams: StreamsBuilder): void {
    const source = streams.topology.source(payments);
    streams.topology.processor(source, { name: 'forget-events', stores: [seenEvents], create: () => this.createProcessor() });
  }

  private createProcessor(): Processor<string, Payment, never, never> {
    const { seen } = this;
    // With the transaction that deleted ids, when it is aborted, this goes as well: a new processor begins at the beginning.
    let from = '';
    let arrived = 0;
    return {
      init(context: InitContext<never, never>) {
        context.schedule(seen.windowMs / timesInWindow, 'streamTime', async (streamTimeMs, punctuation) => {
          // More than have come since the last time, or what is to be deleted would grow for ever.
          const idsMax = idsAtLeast + 2 * arrived;
          const next = await seen.forget(punctuation.store(seenEvents), streamTimeMs, from, idsMax);
          // After its deadline nothing of it counts.
          if (punctuation.signal.aborted) return;
          from = next;
          arrived = 0;
        });
      },
      process() {
        arrived += 1;
      },
    };
  }
}
