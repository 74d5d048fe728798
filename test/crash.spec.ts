/** Instances killed by SIGKILL: nothing is lost, nothing is repeated, and only the changelog's tail is replayed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommitPoint } from '@tally/streams';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { replaysOf } from './support/replays.js';
import { Trial, endTrial } from './support/trial.js';
import type { Plan, WorkerProcess } from './support/workers.js';

/** The broker's `group.consumer.session.timeout.ms`, and what may be added to it. */
const sessionTimeoutMs = 6_000;
const recoveryMs = sessionTimeoutMs + 2_000;
const options = { stateFlushIntervalMs: 500 };

/** Sends records while first one instance and then the other runs all tasks, so that each disk knows a position for each task. */
async function fillDisks(trial: Trial, records: number): Promise<[WorkerProcess, WorkerProcess]> {
  const [early] = await trial.startAll('a');
  await trial.load.send(records / 2);
  await trial.settled();
  const b = trial.start('b');
  await b.event('phase', ({ phase }) => phase === 'running');
  await early?.stop();
  await trial.allRunning();
  await trial.load.send(records / 2);
  await trial.settled();
  const a = trial.start('a');
  await a.until('it has tasks', () => a.tasksIn('running').length > 0);
  await trial.allRunning();
  return [a, b];
}

describe('an instance that is killed at a point of its commit', () => {
  const points: readonly (readonly [string, Plan['action'], CommitPoint])[] = [
    ['when its epoch is frozen', 'kill', 'frozen'],
    ['when its records are produced', 'kill', 'produced'],
    ['before the offsets are sent', 'kill', 'beforeOffsets'],
    ['between the offsets and the commit', 'kill', 'afterOffsets'],
    ['while the commit is under way', 'killSoon', 'beforeCommit'],
    ['after the commit and before the local write', 'kill', 'afterCommit'],
    ['in the middle of the local flush', 'kill', 'duringFlush'],
    ['while the local flush is being written', 'killSoon', 'duringFlush'],
    ['after the local flush', 'kill', 'afterFlush'],
  ];
  let trial: Trial;
  let victim: WorkerProcess;
  let other: WorkerProcess;
  let checkedReplays = 0;

  beforeAll(async () => {
    trial = await Trial.begin('crash-points', { topology: 'sums', options });
    [victim, other] = await fillDisks(trial, 50_000);
  });
  afterAll(() => trial?.end());

  for (const [index, [when, action, point]] of points.entries()) {
    it(`${when}: loses nothing, repeats nothing, and replays the tail alone`, async () => {
      await victim.plan({ action, point, passes: 1 + (index % 3) });
      const { sent } = trial.load;
      const flow = trial.load.flow(2_000);
      expect(await victim.killedByPlan()).toMatchObject({ point });
      const positions = await trial.flushedPositions(victim.name);
      expect([...positions.keys()].sort()).toEqual([0, 1, 2, 3]);
      const dead = victim;
      const successor = trial.start(dead.name);
      [victim, other] = [other, successor];
      await flow.end(sent + 4_000);
      await trial.settled();
      await successor.until('it has tasks', () => successor.tasksIn('running').length > 0);
      expect(await trial.problems()).toEqual([]);
      const replays = await replaysOf(trial, { process: dead, endedAtMs: dead.endedAtMs, positions }, successor);
      expect(replays.problems).toEqual([]);
      checkedReplays += replays.checked;
    });
  }

  it('has compared enough', () => {
    expect(trial.model.records).toBeGreaterThanOrEqual(50_000);
    expect(trial.processes.filter(({ ended }) => ended === 'SIGKILL')).toHaveLength(points.length);
    expect(checkedReplays).toBeGreaterThanOrEqual(points.length);
  });
});

describe('instances that are killed', () => {
  let trial: Trial;
  afterEach((context) => endTrial(trial, context));

  it('at random moments, restoring and joining ones too: lose nothing, repeat nothing, and replay tails alone', async () => {
    trial = await Trial.begin('crash-random', { topology: 'sums', options });
    const kills = 8;
    let inWork = 0;
    let replayed = 0;
    let running = await fillDisks(trial, 20_000);
    const flow = trial.load.flow(2_000);
    const restarts: { dead: WorkerProcess; positions: ReadonlyMap<number, number>; successor: WorkerProcess }[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const [victim, other] = running;
      // Every second one is killed when it processes again, the others whatever they are doing.
      if (kill % 2 === 0) await victim.event('committed', ({ records }) => records > 0);
      await sleep(Math.random() * 1_500);
      if (victim.tasksIn('running').length > 0) inWork++;
      await victim.kill();
      const positions = await trial.flushedPositions(victim.name);
      const successor = trial.start(victim.name);
      restarts.push({ dead: victim, positions, successor });
      running = [other, successor];
    }
    await flow.end(50_000);
    await trial.settled();
    expect(inWork).toBeGreaterThanOrEqual(kills / 2);
    expect(await trial.problems()).toEqual([]);
    for (const { dead, positions, successor } of restarts) {
      const replays = await replaysOf(trial, { process: dead, endedAtMs: dead.endedAtMs, positions }, successor);
      expect(replays.problems).toEqual([]);
      replayed += replays.records;
    }
    expect(replayed).toBeGreaterThan(0);
  });

  it('are not in their own way when they are started again, and their partitions are processed again soon, also when they are not', async () => {
    // Nothing but the successor's start can settle the transaction in time.
    trial = await Trial.begin('crash-soon', { topology: 'sums', options: { ...options, transactionTimeoutMs: 60_000 } });
    const [first, second] = await fillDisks(trial, 40_000);
    const flow = trial.load.flow(1_500);

    const restarted = await killAndTime(first, 'afterOffsets', () => [second, trial.start(first.name)]);
    expect(restarted).toBeLessThan(recoveryMs);
    await trial.allRunning();

    // Nobody starts this one again. It is killed when a commit has just ended: one that is under way would hold up its heirs until the
    // broker ends the transaction, after its timeout.
    const third = trial.processes.at(-1) ?? first;
    await second.event('committed', ({ records }) => records > 0, second.mark);
    const takenOver = await killAndTime(second, 'afterCommit', () => [third]);
    expect(takenOver).toBeLessThan(recoveryMs);

    await flow.end(50_000);
    await trial.settled();
    expect(await trial.problems()).toEqual([]);
  });
});

/** Kills the victim at the point, and measures how long it takes until each of its tasks commits records again, in milliseconds. */
async function killAndTime(victim: WorkerProcess, point: CommitPoint, others: () => readonly WorkerProcess[]): Promise<number> {
  const tasks = victim.tasksIn('running');
  expect(tasks.length).toBeGreaterThan(0);
  await victim.plan({ action: 'kill', point, passes: 2 });
  await victim.killedByPlan();
  const heirs = others();
  const againAtMs = await Promise.all(tasks.map((task) => processedAgainAtMs(task, victim.endedAtMs, heirs)));
  return Math.max(...againAtMs) - victim.endedAtMs;
}

/** When one of the processes has committed records after it had taken the task over. */
async function processedAgainAtMs(task: string, sinceMs: number, processes: readonly WorkerProcess[]): Promise<number> {
  const ends = processes.map(async (process) => {
    const taken = await process.event('task', (event) => event.task === task && event.phase === 'running' && event.atMs >= sinceMs);
    const commit = await process.event('committed', ({ records, atMs }) => records > 0 && atMs > taken.atMs);
    return commit.atMs;
  });
  return Promise.any(ends);
}
