/** Asynchronous handlers that are in flight while their transaction is aborted, or their partitions are revoked or lost. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { brokerErrors, refuseOffsets } from './support/answers.js';
import { BrokerProxy } from './support/proxy.js';
import { Trial } from './support/trial.js';
import type { WorkerProcess } from './support/workers.js';

const recordsTotal = 50_000;

interface Held {
  readonly event: 'held';
  readonly id: string;
}

interface Late {
  readonly event: 'late';
  readonly id: string;
  readonly outcome: Readonly<Record<string, string>>;
}

/** What the topology reports beside the process itself. */
function told<Told extends Held | Late>(worker: WorkerProcess, name: Told['event'], from = 0): readonly Told[] {
  return (worker.events.slice(from) as readonly { readonly event: string }[]).filter(
    ({ event }) => event === name,
  ) as unknown as readonly Told[];
}

const refusedEverywhere = {
  put: 'RecordClosedError',
  delete: 'RecordClosedError',
  get: 'RecordClosedError',
  store: 'RecordClosedError',
  forward: 'RecordClosedError',
  send: 'RecordClosedError',
};

interface Scene {
  readonly trial: Trial;
  readonly proxy: BrokerProxy;
  /** Closes the gate: some handlers that start from now on do not return. */
  readonly close: () => void;
  readonly open: () => void;
  /** Resolves when a handler of the process is in flight. */
  readonly held: (worker: WorkerProcess, from: number) => Promise<void>;
  /** Resolves when handlers in flight have been overtaken, and shows that whatever they wrote then was refused. */
  readonly overtaken: (worker: WorkerProcess, from: number) => Promise<void>;
}

async function calling(name: string, act: (scene: Scene) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tally-gate-'));
  const gate = join(directory, 'closed');
  const proxy = await BrokerProxy.start(kafkaAddresses());
  const topologies = new URL('support/async-topologies.mjs', import.meta.url).href;
  const trial = await Trial.begin(name, { topology: 'calling', topologies, names: { gate }, brokers: proxy.address });
  try {
    await act({
      trial,
      proxy,
      close: () => writeFileSync(gate, ''),
      open: () => rmSync(gate, { force: true }),
      held: (worker, from) => worker.until('a handler is in flight', () => told<Held>(worker, 'held', from).length > 0),
      async overtaken(worker, from) {
        await worker.until('a handler in flight was overtaken', () => told<Late>(worker, 'late', from).length > 0);
        for (const { outcome } of told<Late>(worker, 'late', from)) expect(outcome).toEqual(refusedEverywhere);
      },
    });
    rmSync(gate, { force: true });
    await trial.load.send(recordsTotal - trial.load.sent);
    await trial.settled();
    expect(await trial.problems()).toEqual([]);
    for (const worker of trial.alive) await worker.stop();
  } finally {
    await trial.end();
    await proxy.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Position of what ends the scopes; earlier late writes are those of another round. */
async function markOf(worker: WorkerProcess, what: 'aborted' | 'revoked' | 'lost', from: number): Promise<number> {
  const find = (): number =>
    worker.events.findIndex(
      (event, index) =>
        index >= from && (what === 'aborted' ? event.event === what : event.event === 'revoked' && event.lost === (what === 'lost')),
    );
  await worker.until(`it reported '${what}'`, () => find() >= 0);
  return find();
}

describe('asynchronous handlers in flight', () => {
  it('are overtaken by aborts: their late writes are refused, and their records are processed again', async () => {
    await calling('async-abort', async ({ trial, proxy, close, open, held, overtaken }) => {
      const worker = trial.start('a');
      await trial.allRunning();
      for (let round = 0; round < 4; round++) {
        const mark = worker.mark;
        close();
        const sent = trial.load.send(recordsTotal / 5);
        await held(worker, mark);
        const refusal = proxy.change({ api: 'txnOffsetCommit', timesMax: 1, change: refuseOffsets(brokerErrors.unknownMember) });
        // Even when all tasks stand still at the gate there is something to commit.
        await sent;
        await refusal.firing;
        await overtaken(worker, await markOf(worker, 'aborted', mark));
        open();
      }
      expect((await worker.health()).counters.transactionsAborted).toBe(4);
    });
  });

  it('are overtaken by revocations: their late writes are refused, and the successor processes their records', async () => {
    await calling('async-revocation', async ({ trial, close, open, held, overtaken }) => {
      const first = trial.start('a');
      await trial.allRunning();
      await trial.load.send(recordsTotal / 5);
      for (let round = 0; round < 2; round++) {
        const mark = first.mark;
        close();
        await trial.load.send(recordsTotal / 5);
        await held(first, mark);
        const second = trial.start('b');
        await overtaken(first, await markOf(first, 'revoked', mark));
        open();
        // The first one's tasks count as running until it has let go of them.
        await second.until('it has taken tasks over', () => second.tasksIn('running').length > 0);
        await trial.allRunning();
        await second.stop();
        await trial.allRunning();
      }
    });
  });

  it('are overtaken by a loss: their late writes are refused, and the successor processes their records', async () => {
    await calling('async-loss', async ({ trial, close, open, held, overtaken }) => {
      const [zombie, successor] = (await trial.startAll('a', 'b')) as [WorkerProcess, WorkerProcess];
      await trial.load.send(recordsTotal / 5);
      const mark = zombie.mark;
      close();
      await trial.load.send(recordsTotal / 5);
      await held(zombie, mark);
      zombie.suspend();
      await successor.until('it has taken over', () => successor.tasksIn('running').length === trial.partitions);
      const resumed = zombie.mark;
      zombie.resume();
      // A commit may be refused before the loss is told, and its abort overtakes the handlers first.
      await markOf(zombie, 'lost', mark);
      await overtaken(zombie, resumed);
      open();
    });
  });
});
