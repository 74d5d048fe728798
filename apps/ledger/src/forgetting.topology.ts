import { type StreamsTopology, Topology } from '@tally/nestjs';
import type { InitContext, Processor, StreamsBuilder } from '@tally/streams';
import { payments, seenEvents } from './ledger.topics.js';
import type { Payment } from './payment.js';
import { SeenEvents } from './seen-events.js';

/** So often in a window of stream time some of what is older is deleted. */
const timesInWindow = 200;

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
    // A processor whose deletions are rolled back is made anew, and begins at the beginning.
    let from = '';
    return {
      init(context: InitContext<never, never>) {
        context.schedule(seen.windowMs / timesInWindow, 'streamTime', async (streamTimeMs, punctuation) => {
          from = await seen.forget(punctuation.store(seenEvents), streamTimeMs, from);
        });
      },
      process() {
        // Payments only move the stream's time here.
      },
    };
  }
}
