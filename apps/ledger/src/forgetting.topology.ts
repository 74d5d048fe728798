import { type StreamsTopology, Topology } from '@tally/nestjs';
import type { InitContext, Processor, StreamsBuilder } from '@tally/streams';
import { payments, seenEvents } from './ledger.topics.js';
import type { Payment } from './payment.js';
import { SeenEvents } from './seen-events.js';

/** Keeps the memory of event ids bounded: once in a window of stream time, what is older is deleted. */
@Topology('forgetting')
export class ForgettingTopology implements StreamsTopology {
  constructor(private readonly seen: SeenEvents) {}

  build(streams: StreamsBuilder): void {
    const source = streams.topology.source(payments);
    streams.topology.processor(source, { name: 'forget-events', stores: [seenEvents], create: () => this.createProcessor() });
  }

  private createProcessor(): Processor<string, Payment, never, never> {
    const { seen } = this;
    return {
      init(context: InitContext<never, never>) {
        context.schedule(seen.windowMs, 'streamTime', (streamTimeMs, punctuation) =>
          seen.forget(punctuation.store(seenEvents), streamTimeMs),
        );
      },
      process() {
        // Payments only move the stream's time here.
      },
    };
  }
}
