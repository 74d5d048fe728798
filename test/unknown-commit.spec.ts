/**
 * Commits whose outcome the worker cannot know, since a proxy loses the request to end the transaction, or the broker's answer to it; and
 * the same for the offsets. Whatever had happened at the broker, nothing is lost and nothing is counted twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerOptions } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { BrokerProxy, type Fault, type LossOptions, type LossMode } from './support/proxy.js';
import { Trial } from './support/trial.js';
import type { WorkerProcess } from './support/workers.js';

const recordsTotal = 50_000;
const recordsPerSecond = 10_000;

interface Scene {
  readonly trial: Trial;
  readonly proxy: BrokerProxy;
  readonly worker: WorkerProcess;
  /** Loses something of a commit that holds records; resolves when it has happened. `onFired` runs at that moment. */
  readonly strike: (options: LossOptions, onFired?: () => void) => Promise<Fault>;
}

/** A worker behind a proxy, with a fifth of the load processed; all of it, and the comparison, once the test has done its part. */
async function behindProxy(name: string, options: Partial<WorkerOptions>, act: (scene: Scene) => Promise<void>): Promise<void> {
  const proxy = await BrokerProxy.start(kafkaAddresses());
  const trial = await Trial.begin(name, { topology: 'sums', brokers: proxy.address, options });
  try {
    const worker = trial.start('a');
    await trial.allRunning();
    expect(proxy.addressesReplaced, 'the clients were told the address of the proxy').toBeGreaterThan(0);
    await trial.load.send(recordsTotal / 5);
    await worker.event('committed', ({ counters }) => counters.records === recordsTotal / 5);
    const strike = async (fault: LossOptions, onFired = (): void => {}): Promise<Fault> => {
      // Only while records flow does the next commit hold some: one that brings up the position of a quiet task holds none.
      const before = worker.of('committed').at(-1)?.counters.records ?? 0;
      let isOver = false;
      const armed = worker
        .event('committed', ({ counters }) => counters.records > before, worker.mark)
        .then(() => {
          const loss = proxy.lose(fault);
          return loss.firing.then(() => {
            onFired();
            return loss;
          });
        })
        .finally(() => (isOver = true));
      do await trial.load.send(recordsTotal / 20, recordsPerSecond);
      while (!isOver);
      return armed;
    };
    await act({ trial, proxy, worker, strike });
    if (trial.load.sent < recordsTotal) await trial.load.send(recordsTotal - trial.load.sent);
    await trial.settled();
    expect(await trial.problems()).toEqual([]);
    await worker.stop();
  } catch (error) {
    console.error(trial.describe());
    throw error;
  } finally {
    await trial.end();
    await proxy.close();
  }
}

const commits = (lose: 'request' | 'answer', mode: LossMode): LossOptions => ({
  api: 'endTxn',
  lose,
  mode,
  timesMax: 1,
  only: ({ isCommit }) => isCommit,
});

/** Input records before the committed offsets, once they are stable; `undefined` while an open transaction may still change them. */
async function committedRecords({ trial }: Scene): Promise<number | undefined> {
  const { admin } = trial.cluster.broker;
  const places = await trial.cluster.partitionsOf(trial.inputs[0] ?? '');
  try {
    return (await admin.stableOffsets(trial.applicationId, places)).reduce((sum, { offset = 0 }) => sum + offset, 0);
  } catch (error) {
    if ((error as { kind?: string }).kind === 'pending') return undefined;
    throw error;
  }
}

/** Looks at the broker: has the commit taken effect of which the worker does not know? */
async function expectOutcome(scene: Scene, lost: 'request' | 'answer'): Promise<void> {
  const confirmed = scene.worker.of('committed').at(-1)?.counters.records ?? 0;
  let committed = await committedRecords(scene);
  // The markers may be under way for a moment.
  while (lost === 'answer' && committed === undefined) {
    await sleep(20);
    committed = await committedRecords(scene);
  }
  if (lost === 'answer') expect(committed, 'the commit has taken effect, unknown to the worker').toBeGreaterThan(confirmed);
  else expect(committed, 'the transaction is open').toBeUndefined();
}

const outcomes = [
  ['had taken effect', 'answer'],
  ['had not taken effect', 'request'],
] as const;

describe('a commit that breaks off', () => {
  for (const [outcome, lose] of outcomes) {
    it(`with the connection, again and again, is settled when it ${outcome}`, async () => {
      await behindProxy(`cut-${lose}`, {}, async ({ strike, worker }) => {
        for (let round = 0; round < 5; round++) expect((await strike(commits(lose, 'cut'))).fired).toBe(1);
        expect(worker.of('producerReplaced')).toEqual([]);
      });
    });

    it(`into silence is asked for again, and settled when it ${outcome}`, async () => {
      await behindProxy(`silent-${lose}`, { transactionTimeoutMs: 60_000 }, async (scene) => {
        const { strike, worker } = scene;
        const fault = await strike(commits(lose, 'silent'));
        await expectOutcome(scene, lose);
        await worker.event('log', ({ message }) => message.includes('outcome of a commit is not known'));
        const mark = worker.mark;
        fault.heal();
        await worker.event('committed', () => true, mark);
        expect(fault.fired).toBe(1);
        expect(worker.of('producerReplaced')).toEqual([]);
        expect(worker.of('aborted')).toEqual([]);
      });
    });

    it(`into silence for longer than the bound has the producer replaced, when it ${outcome}`, async () => {
      await behindProxy(`replaced-${lose}`, { commitSettleTimeoutMs: 1_000, transactionTimeoutMs: 60_000 }, async (scene) => {
        const { strike, trial, worker } = scene;
        for (let round = 1; round <= 2; round++) {
          const mark = worker.mark;
          const fault = await strike(commits(lose, 'silent'));
          await expectOutcome(scene, lose);
          await worker.event('producerReplaced', () => true, mark);
          // The new producer settles what the old one left, though that one's connection stays silent.
          await worker.until(
            'all tasks were restored and run again',
            () => worker.of('restored', mark).length >= trial.partitions && worker.tasksIn('running').length === trial.partitions,
          );
          await worker.event('committed', () => true, mark);
          fault.heal();
          expect(worker.of('producerReplaced')).toHaveLength(round);
        }
        expect(worker.of('aborted')).toEqual([]);
      });
    });
  }
});

describe('offsets on their way into the transaction', () => {
  it('take effect once, when the client looks for the coordinator and never calls back', async () => {
    await behindProxy('unanswered', {}, async ({ strike, worker, proxy }) => {
      for (let round = 1; round <= 2; round++) {
        const mark = worker.mark;
        let search: Fault | undefined;
        // Where its request breaks off the client looks for the group's coordinator again, and that has no bound in it.
        await strike({ api: 'txnOffsetCommit', lose: 'request', mode: 'cut', timesMax: 1 }, () => {
          search = proxy.lose({ api: 'findCoordinator', lose: 'request', mode: 'silent' });
        });
        await search?.firing;
        const { reason } = await worker.event('producerReplaced', () => true, mark);
        expect(reason?.code).toBe('OFFSETS_UNANSWERED');
        // The old producer finds its coordinator now, while the new one settles what it left.
        search?.heal();
        await worker.event('committed', () => true, worker.mark);
        expect(search?.fired).toBeGreaterThan(0);
        expect(worker.of('producerReplaced')).toHaveLength(round);
      }
    });
  });

  for (const api of ['addOffsetsToTxn', 'txnOffsetCommit'] as const) {
    for (const lose of ['answer', 'request'] as const) {
      it(`take effect once, when the ${lose} of ${api} is lost with its connection or in silence`, async () => {
        await behindProxy(`offsets-${lose}`, {}, async ({ strike, worker }) => {
          for (let round = 0; round < 3; round++) expect((await strike({ api, lose, mode: 'cut', timesMax: 1 })).fired).toBe(1);
          const mark = worker.mark;
          const fault = await strike({ api, lose, mode: 'silent', timesMax: 1 });
          await worker.until(
            'the silence was noticed',
            () => worker.of('aborted', mark).length + worker.of('producerReplaced', mark).length > 0,
          );
          fault.heal();
          expect(fault.fired).toBe(1);
        });
      });
    }
  }
});
