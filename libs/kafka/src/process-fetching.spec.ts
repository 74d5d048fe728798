import type { BrokerAdmin, Logger, TopicPartition, TopicPartitionOffset } from '@tally/streams';
import { silentLogger } from '@tally/streams';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { KafkaGroupConsumer } from './consumer.js';
import { errorNumbers } from './errors.js';
import { resolveOptions } from './options.js';
import { QueueWatch } from './queue-watch.js';

type Rebalanced = (event: { readonly code: number }, partitions: readonly TopicPartition[]) => void;

const { clients, processes, FakeClient, FakeProcess } = await vi.hoisted(async () => {
  const { EventEmitter: Emitter } = await import('node:events');
  /** Polled without end, it brings nothing. */
  class Client extends Emitter {
    readonly rebalance: Rebalanced;
    readonly committed: () => void;
    readonly calls: string[] = [];
    isOpen = false;
    /** The number with which commits are refused. */
    refusal: number | undefined;
    constructor(properties: { readonly rebalance_cb: Rebalanced; readonly offset_commit_cb: () => void }) {
      super();
      this.committed = properties.offset_commit_cb;
      this.rebalance = properties.rebalance_cb;
      madeClients.push(this);
    }
    connect(_options: object, callback: () => void): void {
      this.isOpen = true;
      callback();
    }
    disconnect(callback: () => void): void {
      this.isOpen = false;
      callback();
    }
    isConnected(): boolean {
      return this.isOpen;
    }
    consume(_recordsMax: number, callback: (error?: unknown, messages?: readonly object[]) => void): void {
      setImmediate(() => callback(undefined, []));
    }
    assignmentLost(): boolean {
      return true;
    }
    incrementalAssign(starts: readonly object[]): void {
      if (starts.length > 0) this.calls.push('assign');
    }
    incrementalUnassign(): void {
      this.calls.push('unassign');
    }
    pause(): void {
      this.calls.push('pause');
    }
    commit(): void {
      if (this.refusal !== undefined) throw Object.assign(new Error('refused'), { code: this.refusal });
      this.committed();
    }
    resume(): void {
      this.calls.push('resume');
    }
    seek(): void {
      this.calls.push('seek');
    }
    subscribe(): void {}
    setDefaultIsTimeoutOnlyForFirstMessage(): void {}
    setDefaultConsumeTimeout(): void {}
  }
  /** Says what it is told, and brings what it is given. */
  class Process {
    readonly told: string[] = [];
    readonly brings: TopicPartitionOffset[] = [];
    queuedRecords = 0;
    constructor() {
      madeProcesses.push(this);
    }
    open(starts: readonly TopicPartitionOffset[]): void {
      for (const { partition, offset } of starts) this.told.push(`open ${partition} at ${offset}`);
    }
    close(partitions: readonly TopicPartition[]): void {
      for (const { partition } of partitions) this.told.push(`close ${partition}`);
    }
    renew(): void {
      this.told.push('renew');
    }
    async take(recordsMax: number): Promise<object> {
      return { records: this.brings.splice(0, recordsMax), ends: [] };
    }
    async end(): Promise<void> {
      this.told.push('end');
    }
  }
  const [madeClients, madeProcesses]: [Client[], Process[]] = [[], []];
  return { clients: madeClients, processes: madeProcesses, FakeClient: Client, FakeProcess: Process };
});

vi.mock('./native.js', () => ({ loadNativeModule: () => ({ KafkaConsumer: FakeClient }) }));
vi.mock('./fetch-process.js', () => ({ FetchProcess: FakeProcess }));

afterEach(() => vi.useRealTimers());

const admin = { listOffsets: async () => [] } as object as BrokerAdmin;

const at = (partition: number): TopicPartition => ({ topic: 't', partition });
const both = [at(0), at(1)];
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A consumer that owns two partitions, the second one paused. */
async function owning() {
  const [told, warnings]: [string[], string[]] = [[], []];
  const logger: Logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const tell = (what: string) => (partitions: readonly TopicPartition[]) =>
    void told.push(`${what} ${partitions.map(({ partition }) => partition).join(' ')}`);
  const listener = { assigned: tell('assigned'), revoked: tell('revoked'), lost: tell('lost'), failed() {} };
  const options = resolveOptions({ brokers: 'a:1', closeTimeoutMs: 100, fetchProcess: true, logger });
  const consumer = new KafkaGroupConsumer(options, { groupId: 'g', clientId: 'c', listener }, admin, new QueueWatch());
  await consumer.subscribe(['t']);
  const client = clients.at(-1) as InstanceType<typeof FakeClient>;
  const fetching = processes.at(-1) as InstanceType<typeof FakeProcess>;
  client.rebalance({ code: errorNumbers.assignPartitions }, both);
  await turn();
  await consumer.assign([{ ...at(0), offset: 5 }], { paused: false });
  await consumer.assign([{ ...at(1), offset: 7 }], { paused: true });
  return { consumer, client, fetching, told, warnings };
}

describe('a consumer for which another process fetches', () => {
  it('never has its own client read, whatever becomes of its partitions', async () => {
    const { consumer, client, fetching } = await owning();
    expect(client.calls).toEqual(['assign', 'pause', 'assign', 'pause']);
    expect(fetching.told.splice(0)).toEqual(['open 0 at 5']);
    fetching.brings.push({ ...at(0), offset: 5 }, { ...at(0), offset: 6 });
    expect(await consumer.consume(10, 10)).toHaveLength(2);
    await consumer.pause([at(0)]);
    await consumer.seek([{ ...at(1), offset: 3 }]);
    await consumer.resume(both);
    expect(fetching.told.splice(0)).toEqual(['close 0', 'close 1', 'open 0 at 7', 'open 1 at 3']);
    await consumer.seek([{ ...at(0), offset: 5 }]);
    expect(fetching.told.splice(0)).toEqual(['close 0', 'open 0 at 5']);
    client.rebalance({ code: errorNumbers.revokePartitions }, [at(1)]);
    await turn();
    await consumer.unassign([at(1)]);
    expect(fetching.told.splice(0)).toEqual(['close 1']);
    expect(client.calls.slice(4)).toEqual(['unassign']);
    await consumer.close();
    expect(fetching.told).toEqual(['end']);
  });

  it('is replaced where its group keeps refusing its offsets and it hears of nothing', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { consumer, client, told, warnings } = await owning();
    const refusedFor = (times: number, everyMs: number): void => {
      for (let count = 0; count < times; count++) {
        consumer.refused();
        vi.advanceTimersByTime(everyMs);
      }
    };
    // Often but not for long, for long but with offsets taken or the group heard in between: that happens with every rebalance.
    refusedFor(5, 1_900);
    consumer.accepted();
    refusedFor(2, 20_000);
    client.rebalance({ code: errorNumbers.assignPartitions }, []);
    refusedFor(2, 20_000);
    await consumer.consume(1, 1);
    expect(warnings).toEqual([]);
    consumer.refused();
    await consumer.consume(1, 1);
    expect(warnings).toEqual([expect.stringMatching(/does not hear that its group refuses it, and is replaced by a new member/)]);
    expect(told).toEqual(['assigned 0 1', 'lost 0 1']);
    await consumer.unassign(both);
    await consumer.consume(1, 1);
    expect(clients.at(-1)).not.toBe(client);
    await consumer.close();
  });

  it('is replaced just so where it commits its offsets itself', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { consumer, client, warnings } = await owning();
    const commit = (): Promise<void> => consumer.commitOffsets([{ ...at(0), offset: 6, metadata: '' }]);
    const unknownMember = 25;
    for (const refusal of [unknownMember, unknownMember, undefined, unknownMember, unknownMember]) {
      client.refusal = refusal;
      vi.advanceTimersByTime(6_000);
      if (refusal === undefined) await commit();
      else await expect(commit()).rejects.toMatchObject({ kind: 'staleMember' });
    }
    expect(warnings).toEqual([]);
    vi.advanceTimersByTime(6_000);
    await expect(commit()).rejects.toMatchObject({ kind: 'staleMember' });
    expect(warnings).toEqual([expect.stringMatching(/does not hear that its group refuses it/)]);
  });
});
