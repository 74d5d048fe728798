import { type BrokerAdmin, type Logger, silentLogger, type TopicPartition } from '@tally/streams';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { KafkaGroupConsumer } from './consumer.js';
import { errorNumbers } from './errors.js';
import { resolveOptions } from './options.js';
import { QueueWatch } from './queue-watch.js';

type Callback = (error?: unknown, messages?: readonly object[]) => void;
type Rebalanced = (event: { readonly code: number }, partitions: readonly TopicPartition[]) => void;

interface Watched {
  readonly stuck: (silent: readonly TopicPartition[]) => void;
  readonly rouse: (silent: readonly TopicPartition[]) => void;
}

const { clients, watches, FakeClient } = await vi.hoisted(async () => {
  const { EventEmitter: Emitter } = await import('node:events');
  /** Answers what connects at once; consumes end when the test says so. */
  class Client extends Emitter {
    readonly rebalance: Rebalanced;
    readonly committed: () => void;
    consuming: Callback | undefined;
    sought: (() => void) | undefined;
    isOpen = false;
    readonly subscribe = vi.fn<() => void>();
    readonly incrementalAssign = vi.fn<(starts: readonly TopicPartition[]) => void>();
    readonly incrementalUnassign = vi.fn<(partitions: readonly TopicPartition[]) => void>();
    readonly pause = vi.fn<(partitions: readonly TopicPartition[]) => void>();
    readonly resume = vi.fn<(partitions: readonly TopicPartition[]) => void>();
    readonly disconnect = vi.fn<(callback: Callback) => void>((callback) => {
      this.isOpen = false;
      callback();
    });
    constructor(properties: { readonly rebalance_cb: Rebalanced; readonly offset_commit_cb: () => void }) {
      super();
      this.rebalance = properties.rebalance_cb;
      this.committed = properties.offset_commit_cb;
      all.push(this);
    }
    connect(_options: object, callback: Callback): void {
      this.isOpen = true;
      callback();
    }
    isConnected(): boolean {
      return this.isOpen;
    }
    consume(_recordsMax: number, callback: Callback): void {
      this.consuming = callback;
    }
    queryWatermarkOffsets(...words: unknown[]): void {
      (words[3] as Callback)();
    }
    commit(): void {}
    assignmentLost(): boolean {
      return true;
    }
    seek(_target: object, _timeoutMs: number, callback: () => void): void {
      this.sought = callback;
    }
    setDefaultIsTimeoutOnlyForFirstMessage(): void {}
    setDefaultConsumeTimeout(): void {}
  }
  const all: Client[] = [];
  return { clients: all, watches: [] as Watched[], FakeClient: Client };
});

vi.mock('./native.js', () => ({ loadNativeModule: () => ({ KafkaConsumer: FakeClient }) }));

vi.mock('./stall-watch.js', () => ({
  StallWatch: class {
    constructor(parts: Watched) {
      watches.push(parts);
    }
    tick(): void {}
  },
}));

const at = (partition: number): TopicPartition => ({ topic: 't', partition });
const both = [at(0), at(1)];
const assignment = { code: errorNumbers.assignPartitions };
const revocation = { code: errorNumbers.revokePartitions };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A consumer that owns two partitions, and brings records of both. */
async function owning() {
  const errors: string[] = [];
  const told: string[] = [];
  const logger: Logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
  const tell = (what: string) => (partitions: readonly TopicPartition[]) =>
    void told.push(`${what} ${partitions.map(({ partition }) => partition).join(' ')}`);
  const listener = { assigned: tell('assigned'), revoked: tell('revoked'), lost: tell('lost'), failed() {} };
  const options = resolveOptions({ brokers: 'a:1', closeTimeoutMs: 100, logger });
  const consumer = new KafkaGroupConsumer(options, { groupId: 'g', clientId: 'c', listener }, {} as BrokerAdmin, new QueueWatch());
  await consumer.subscribe(['t']);
  const client = clients.at(-1) as InstanceType<typeof FakeClient>;
  client.rebalance(assignment, both);
  await turn();
  await consumer.assign(
    both.map((each) => ({ ...each, offset: 5 })),
    { paused: false },
  );
  const { stuck, rouse } = watches.at(-1) as Watched;
  /** As it happens while the runtime reads. */
  const giveUp = async (): Promise<void> => {
    const consuming = consumer.consume(10, 1);
    await turn();
    stuck(both);
    client.consuming?.(undefined, []);
    await consuming;
  };
  return { consumer, client, errors, told, stuck, rouse, giveUp };
}

beforeEach(() => void clients.splice(0));

describe('a consumer whose client is stuck', () => {
  it('answers what it hears of its group only when all has been let go', async () => {
    const { consumer, client, told, stuck } = await owning();
    const consuming = consumer.consume(10, 1);
    await turn();
    stuck(both);
    // The answer would let the client join anew, and offsets that are on their way pass under its new epoch.
    client.rebalance(revocation, both);
    client.consuming?.(undefined, []);
    await consuming;
    expect(told).toEqual(['assigned 0 1', 'lost 0 1']);
    await consumer.unassign([at(0)]);
    expect(client.incrementalUnassign).not.toHaveBeenCalled();
    expect(consumer.memberFor([at(1)]).client).toBe(client);
    await consumer.unassign([at(1)]);
    expect(client.incrementalUnassign.mock.calls).toEqual([[both]]);
    expect(() => consumer.memberFor([at(1)])).toThrow(/does not own/);
  });

  it('answers at once what comes behind that, and takes what it is assigned without using it', async () => {
    const { consumer, client, told, giveUp } = await owning();
    await giveUp();
    client.incrementalAssign.mockClear();
    client.rebalance(assignment, [at(2)]);
    expect(client.incrementalAssign.mock.calls).toEqual([[[]]]);
    await consumer.unassign(both);
    expect(client.incrementalUnassign).not.toHaveBeenCalled();
    client.rebalance(revocation, both);
    client.rebalance(revocation, [at(2)]);
    expect(client.incrementalUnassign.mock.calls).toEqual([[both], [[]]]);
    expect(told).toEqual(['assigned 0 1', 'lost 0 1']);
  });

  it('reads on with another client, which closes by itself, whatever the old one waits for', async () => {
    const { consumer, client, errors, giveUp } = await owning();
    // Offsets that are sent while the group's coordinator cannot be found.
    void consumer.memberFor(both).calls.track(new Promise(() => {}));
    await giveUp();
    await consumer.unassign(both);
    const consuming = consumer.consume(10, 1);
    await vi.waitFor(() => expect(clients[1]?.consuming).toBeDefined());
    clients[1]?.consuming?.(undefined, []);
    await consuming;
    await vi.waitFor(() => expect(errors).toEqual([expect.stringMatching(/that was stuck is left behind: .* member of its group/)]));
    await consumer.close();
    expect(clients[1]?.disconnect).toHaveBeenCalledOnce();
    expect(client.disconnect).not.toHaveBeenCalled();
    expect(errors).toHaveLength(1);
  });

  it('keeps it until another one has subscribed', async () => {
    const { consumer, client, giveUp } = await owning();
    await giveUp();
    await consumer.unassign(both);
    const failing = vi.spyOn(FakeClient.prototype, 'connect').mockImplementationOnce(function (
      this: InstanceType<typeof FakeClient>,
      ...words
    ) {
      this.isOpen = true;
      this.subscribe.mockImplementationOnce(() => {
        throw Object.assign(new Error('Local: Erroneous state'), { code: errorNumbers.state });
      });
      words[1]();
    });
    await expect(consumer.consume(10, 1)).rejects.toThrow(/Subscribing/);
    failing.mockRestore();
    expect(clients[1]?.disconnect).toHaveBeenCalledOnce();
    expect(client.disconnect).not.toHaveBeenCalled();
    const consuming = consumer.consume(10, 1);
    await vi.waitFor(() => expect(clients[2]?.consuming).toBeDefined());
    clients[2]?.consuming?.(undefined, []);
    await consuming;
    expect(client.disconnect).toHaveBeenCalledOnce();
    await consumer.close();
  });

  it('hears from it what it has committed, as long as the runtime has not let go', async () => {
    const { consumer, client, stuck } = await owning();
    const committing = consumer.commitOffsets([{ ...at(0), offset: 6, metadata: '' }]);
    await vi.waitFor(() => expect(client.consuming).toBeDefined());
    stuck(both);
    client.committed();
    client.consuming?.(undefined, []);
    await expect(committing).resolves.toBeUndefined();
  });

  it('keeps no record of it that comes while offsets are committed', async () => {
    const { consumer, client, stuck } = await owning();
    const record = { ...at(0), offset: 5, timestamp: 1, key: null, value: null };
    const committing = consumer.commitOffsets([{ ...at(0), offset: 6, metadata: '' }]);
    await vi.waitFor(() => expect(client.consuming).toBeDefined());
    stuck(both);
    const first = consumer.unassign([at(0)]);
    client.consuming?.(undefined, []);
    await first;
    await turn();
    const second = consumer.unassign([at(1)]);
    await turn();
    client.consuming?.(undefined, [record]);
    await second;
    const connecting = vi.spyOn(FakeClient.prototype, 'connect').mockImplementationOnce(function (
      this: InstanceType<typeof FakeClient>,
      ...words
    ) {
      this.isOpen = true;
      setTimeout(() => words[1](), 50);
    });
    const consuming = consumer.consume(10, 1);
    await vi.waitFor(() => expect(clients[1]?.consuming).toBeDefined());
    clients[1]?.committed();
    connecting.mockRestore();
    await committing;
    clients[1]?.rebalance(assignment, both);
    clients[1]?.consuming?.(undefined, []);
    await consuming;
    await consumer.assign([{ ...at(0), offset: 6 }], { paused: false });
    const again = consumer.consume(10, 1);
    await turn();
    clients[1]?.consuming?.(undefined, [{ ...record, offset: 6 }]);
    expect((await again).map(({ offset }) => offset)).toEqual([6]);
    await consumer.close();
  });

  it('first has it read on from where it is, so that it reports ends which were missed', async () => {
    const { client, rouse } = await owning();
    rouse(both);
    expect([client.pause.mock.calls, client.resume.mock.calls]).toEqual([[[both]], [[both]]]);
    client.pause.mockImplementation(() => {
      throw new Error('Client is disconnected');
    });
    rouse(both);
    expect(client.resume).toHaveBeenCalledOnce();
  });
});

describe('a consumer that commits offsets', () => {
  it('does not consume meanwhile beside calls that run between two consumes', async () => {
    const { consumer, client } = await owning();
    const seeking = consumer.seek([{ ...at(0), offset: 9 }]);
    const committing = consumer.commitOffsets([{ ...at(1), offset: 6, metadata: '' }]);
    for (let turns = 0; turns < 5; turns++) await turn();
    expect(client.consuming).toBeUndefined();
    client.sought?.();
    await seeking;
    await vi.waitFor(() => expect(client.consuming).toBeDefined());
    const pausing = consumer.pause([at(0)]);
    const end = client.consuming;
    client.consuming = undefined;
    client.pause.mockImplementation(() => expect(client.consuming).toBeUndefined());
    end?.(undefined, []);
    await pausing;
    expect(client.pause).toHaveBeenCalledOnce();
    client.committed();
    await committing;
    await consumer.close();
  });
});

describe('a consumer that closes', () => {
  it('answers what it hears only when nothing is under way any more', async () => {
    const { consumer, client } = await owning();
    let ended: (value?: undefined) => void = () => {};
    void consumer.memberFor(both).calls.track(new Promise((resolve) => (ended = resolve)));
    const closing = consumer.close();
    client.rebalance(revocation, both);
    await turn();
    expect(client.incrementalUnassign).not.toHaveBeenCalled();
    ended();
    await closing;
    expect(client.incrementalUnassign.mock.calls).toEqual([[both]]);
    expect(client.disconnect).toHaveBeenCalledOnce();
  });

  it('releases what it is assigned, which its client refuses to take', async () => {
    const { consumer, client } = await owning();
    client.disconnect.mockImplementation((callback) => {
      client.incrementalAssign.mockImplementation(() => {
        throw Object.assign(new Error('KafkaConsumer is disconnected'), { code: errorNumbers.state });
      });
      client.rebalance(assignment, [at(2)]);
      callback();
    });
    await consumer.close();
    expect(client.incrementalUnassign.mock.calls).toEqual([[[]]]);
  });
});
