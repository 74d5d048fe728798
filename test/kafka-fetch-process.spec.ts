/** The option `fetchProcess`: another process fetches what the group's consumer reads. */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { brokerSuite } from '../libs/testing/src/broker.suite.js';
import { createKafkaSetting } from './kafka-setting.js';
import { Trial } from './support/trial.js';
import type { WorkerProcess } from './support/workers.js';

brokerSuite('a Kafka cluster, with a process that fetches', () => createKafkaSetting({ fetchProcess: true }));

const kills = 6;
const recordsTotal = 60_000;
const waveSize = 500;

/** All processes of this machine that fetch, with their parents. */
function fetchers(): readonly { readonly pid: number; readonly parent: number }[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  return rows
    .filter((row) => row.includes('fetch-program.js'))
    .map((row) => row.trim().split(/\s+/))
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }));
}

const fetcherOf = (worker: WorkerProcess): number | undefined => fetchers().find(({ parent }) => parent === worker.pid)?.pid;

async function fetcherOfNow(worker: WorkerProcess): Promise<number> {
  for (;;) {
    const pid = fetcherOf(worker);
    if (pid !== undefined) return pid;
    await sleep(20);
  }
}

async function gone(pids: readonly number[]): Promise<void> {
  while (fetchers().some(({ pid }) => pids.includes(pid))) await sleep(20);
}

describe('a process that fetches', () => {
  it('may be killed again and again, and so may its worker: nothing is lost, nothing is repeated, and no process is left', async () => {
    const trial = await Trial.begin('fetch-process', {
      topology: 'sums',
      client: { fetchProcess: true },
      options: { commitIntervalMs: 50, stateFlushIntervalMs: 500 },
    });
    const seen = new Set<number>();
    try {
      let worker = trial.start('a');
      await trial.allRunning();
      let [killed, ended] = [0, 0];
      for (let sent = 0; sent < recordsTotal; sent += waveSize) {
        await trial.load.send(waveSize);
        if (killed >= kills || sent < (killed + 1) * (recordsTotal / (kills + 2))) continue;
        const pid = await fetcherOfNow(worker);
        seen.add(pid);
        killed++;
        if (killed === kills / 2) {
          await worker.kill();
          await gone([pid]);
          ended++;
          worker = trial.start('a');
          await trial.allRunning();
          // What it fetches with is to be there before it is killed next.
          seen.add(await fetcherOfNow(worker));
          continue;
        }
        const { mark } = worker;
        process.kill(pid, 'SIGKILL');
        await worker.event('log', ({ message }) => message.includes('(SIGKILL). Another one follows'), mark);
      }
      await trial.settled();
      expect([killed, ended]).toEqual([kills, 1]);
      expect(seen.size).toBe(kills);
      expect(await trial.problems()).toEqual([]);
      const last = await fetcherOfNow(worker);
      await worker.stop();
      await gone([...seen, last]);
    } finally {
      await trial.end();
    }
  });

  it('waits for a worker that is suspended, and ends with one that is killed in that state', async () => {
    const trial = await Trial.begin('fetch-suspended', { topology: 'sums', client: { fetchProcess: true } });
    try {
      const worker = trial.start('a');
      await trial.allRunning();
      const pid = await fetcherOfNow(worker);
      worker.suspend();
      // More than the pipe and all queues hold, while nobody takes any of it.
      await trial.load.send(50_000);
      worker.resume();
      await trial.settled();
      expect(fetcherOf(worker)).toBe(pid);
      expect(await trial.problems()).toEqual([]);
      worker.suspend();
      await worker.kill();
      await gone([pid]);
    } finally {
      await trial.end();
    }
  });
});
