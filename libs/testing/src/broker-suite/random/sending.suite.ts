/** Sends good and wrong records by either kind of producer. */
import type { Headers, OutputProducer, TransactionalProducer } from '@tally/streams';
import { type Answer, answerOf, bytesOf, headersOf, nameOf } from './answers.suite.js';
import type { Place, RecordShape, Wrong } from './commands.suite.js';
import type { World } from './world.suite.js';

interface SentRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly timestampMs: number;
  readonly headers: Headers;
}

export class Sending {
  /** Places at which the broker has refused a record: the next batch there may fail for its sake. */
  readonly refusedAt = new Set<Place>();
  private heard = 0;
  private failures: string[] = [];

  constructor(
    private readonly world: World,
    private readonly sender: Pick<TransactionalProducer | OutputProducer, 'produce' | 'takeFailures'>,
  ) {}

  async records(at: Place, shapes: readonly RecordShape[]): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (const shape of shapes) {
      const { timestampMs } = shape;
      answers.push(
        await this.queue({
          ...this.world.partitionOf(at),
          key: bytesOf(shape.key),
          value: bytesOf(shape.value),
          timestampMs,
          headers: headersOf(shape),
        }),
      );
    }
    return answers;
  }

  async wrong(at: Place, wrong: Wrong): Promise<Answer> {
    const good = { ...this.world.partitionOf(at), key: Buffer.from('a'), value: Buffer.from('wrong'), timestampMs: 1, headers: [] };
    return this.queue({ ...good, ...wrongness(wrong, good.topic) });
  }

  /** Records that were refused since the last call; what failed for the sake of another one does not count. */
  takeFailures(): Answer {
    this.gatherFailures();
    return this.failures.splice(0).sort();
  }

  get hasFailures(): boolean {
    this.gatherFailures();
    return this.failures.length > 0;
  }

  /** How often something has failed until now, for whatever reason. */
  get failuresHeard(): number {
    this.gatherFailures();
    return this.heard;
  }

  private gatherFailures(): void {
    for (const { error, ...at } of this.sender.takeFailures()) {
      this.heard += 1;
      if (error.kind === 'recordRefused') this.failures.push(`${this.world.placeOf(at)} ${nameOf(error)}`);
    }
  }

  private async queue({ topic, partition, key, value, timestampMs, headers }: SentRecord): Promise<Answer> {
    return answerOf(async () => {
      // False: a queue that is full, or a client that looks once more what partitions there are.
      const isQueued = await this.world.until(() => this.sender.produce(topic, partition, key, value, timestampMs, headers));
      return isQueued ? 'queued' : 'full';
    });
  }
}

function wrongness(wrong: Wrong, topic: string): Partial<SentRecord> {
  switch (wrong) {
    case 'tooLarge':
      return { value: new Uint8Array(30_000) };
    case 'ofTheFuture':
      return { timestampMs: Date.UTC(2100, 0, 1) };
    case 'withoutKey':
      return { key: null };
    case 'timestampZero':
      return { timestampMs: 0 };
    case 'timestampNoNumber':
      return { timestampMs: Number.NaN };
    case 'header':
      return { headers: [{ name: 'a\0b', value: Buffer.from('x') }] };
    case 'partition':
      return { partition: 7 };
    case 'topic':
      return { topic: `${topic}-unknown` };
  }
}
