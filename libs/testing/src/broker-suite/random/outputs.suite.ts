/** The producer without transactions under random commands. */
import type { OutputProducer } from '@tally/streams';
import { type Answer, answerOf, persistently } from './answers.suite.js';
import type { Place, RecordShape, Wrong } from './commands.suite.js';
import { Sending } from './sending.suite.js';
import type { World } from './world.suite.js';

interface Opened {
  readonly producer: OutputProducer;
  readonly sending: Sending;
}

export class Outputs {
  private opened: Opened | undefined;

  constructor(private readonly world: World) {}

  send(at: Place, records: readonly RecordShape[]): Promise<Answer> {
    return this.flushed((sending) => sending.records(at, records));
  }

  sendWrong(at: Place, wrong: Wrong): Promise<Answer> {
    return this.flushed((sending) => sending.wrong(at, wrong));
  }

  async close(): Promise<void> {
    await this.opened?.producer.close();
  }

  private async flushed(send: (sending: Sending) => Promise<Answer>): Promise<Answer> {
    const { producer, sending } = (this.opened ??= await this.open());
    const queued = await send(sending);
    const flushed = await answerOf(async () => {
      await producer.flush(10_000);
      return 'flushed';
    });
    return [queued, flushed, sending.takeFailures()];
  }

  private async open(): Promise<Opened> {
    const producer = this.world.broker.createOutputProducer();
    await persistently(() => producer.connect());
    return { producer, sending: new Sending(this.world, producer) };
  }
}
