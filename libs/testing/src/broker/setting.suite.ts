/** What the tests of the simulated cluster share: a cluster on a virtual clock, group members that answer at once, producers. */
import { type BrokerError, type ConsumedRecord, noHeaders, seededRandom, type TopicPartition } from '@tally/streams';
import { ProcessClock, SimulatedBroker, SimulatedCluster, VirtualClock } from '../index.js';

export const bytes = (text: string): Uint8Array => Buffer.from(text);
export const values = (records: readonly ConsumedRecord[]): string[] => records.map((record) => Buffer.from(record.value ?? []).toString());

export function setUp(seed = 1, markerDelay = 0.5) {
  const clock = new VirtualClock();
  const trace: string[] = [];
  const cluster = new SimulatedCluster({ clock, random: seededRandom(seed), markerDelay, trace: (line) => trace.push(line) });
  const start = (process: string) => {
    const processClock = new ProcessClock(clock);
    const broker = new SimulatedBroker(cluster, { process, clock: processClock });
    return { broker, clock: processClock };
  };
  const run = <T>(work: () => Promise<T>): Promise<T> => clock.run(work());
  return { clock, cluster, start, run, trace };
}

export type Setting = ReturnType<typeof setUp>;

/** A member that answers each rebalance at once and remembers what happened. */
export function member({ start }: Setting, process: string, groupId = 'group') {
  const { broker, clock } = start(process);
  const log: string[] = [];
  const held = new Set<string>();
  const names = (partitions: readonly TopicPartition[]) => partitions.map(({ topic, partition }) => `${topic}-${partition}`);
  const pending: (() => Promise<void>)[] = [];
  let answersHeld = false;
  const leave = (kind: string) => (partitions: readonly TopicPartition[]) => {
    log.push(`${kind} ${names(partitions).join(' ')}`);
    pending.push(async () => {
      await consumer.unassign(partitions);
      for (const name of names(partitions)) held.delete(name);
    });
  };
  const consumer = broker.createConsumer({
    groupId,
    clientId: process,
    listener: {
      assigned(partitions) {
        log.push(`assigned ${names(partitions).join(' ')}`);
        pending.push(async () => {
          await consumer.assign(
            partitions.map((partition) => ({ ...partition, offset: 0 })),
            { paused: false },
          );
          for (const name of names(partitions)) held.add(name);
        });
      },
      revoked: leave('revoked'),
      lost: leave('lost'),
      failed(error) {
        log.push(`failed ${error.code}`);
      },
    },
  });
  const records: ConsumedRecord[] = [];
  const turn = async (timeoutMs = 50): Promise<ConsumedRecord[]> => {
    const taken = await consumer.consume(100, timeoutMs);
    records.push(...taken);
    if (!answersHeld) for (const answer of pending.splice(0)) await answer();
    return taken;
  };
  const poll = async (until: () => boolean): Promise<void> => {
    while (!until()) await turn();
  };
  const holdAnswers = (hold: boolean): void => {
    answersHeld = hold;
  };
  return { broker, clock, consumer, log, held, records, turn, poll, holdAnswers };
}

export async function producer(setting: Setting, process: string, transactionalId: string, transactionTimeoutMs = 10_000) {
  const { broker, clock } = setting.start(process);
  const made = broker.createTransactionalProducer({ transactionalId, transactionTimeoutMs, clientId: process });
  await made.init();
  return {
    broker,
    clock,
    producer: made,
    send: (topic: string, partition: number, value: string) => made.produce(topic, partition, bytes('key'), bytes(value), 1, noHeaders),
  };
}

export async function rejection(promise: Promise<unknown>): Promise<BrokerError> {
  try {
    await promise;
  } catch (error) {
    return error as BrokerError;
  }
  throw new Error('It was not refused.');
}

/** Waits in virtual time. */
export function passes({ clock }: Setting, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}
