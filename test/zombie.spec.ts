/** Processes that stand still (SIGSTOP) until their tasks have moved, and go on: what they still hold is refused and forgotten. */
import type { CommitPoint } from '@tally/streams';
import { afterEach, describe, expect, it } from 'vitest';
import { differences, lastTotals } from './support/model.js';
import { replaysOf } from './support/replays.js';
import { Trial, endTrial } from './support/trial.js';
import type { WorkerProcess } from './support/workers.js';

let trial: Trial | undefined;
afterEach((context) => endTrial(trial, context));

interface Zombie {
  readonly a: WorkerProcess;
  readonly b: WorkerProcess;
  readonly endedAtMs: number;
  readonly positions: ReadonlyMap<number, number>;
  /** Events of `a` before it went on. */
  readonly mark: number;
}

/** Holds `a` at the point of a commit, suspends it, and lets it go on when `b` has taken its tasks and committed for them. */
async function suspendAndResume(on: Trial, point: CommitPoint): Promise<Zombie> {
  const [a, b] = (await on.startAll('a', 'b')) as [WorkerProcess, WorkerProcess];
  const tasks = a.tasksIn('running');
  await a.event('flushed', () => true);
  await a.plan({ action: 'hold', point, passes: 2 });
  await a.event('fired');
  const flushes = (of: CommitPoint): number => a.of('point').filter((event) => event.point === of).length;
  await a.until('its flushes have ended', () => flushes('beforeFlush') === flushes('afterFlush'));
  // What is produced lingers for some milliseconds: suspended before, there would be no transaction that could time out.
  if (point !== 'frozen') await on.holdsTransaction(tasks);
  a.suspend();
  const endedAtMs = Date.now();
  const { mark } = a;
  await b.until('it has taken the tasks', () => tasks.every((task) => b.tasksIn('running').includes(task)));
  const taken = b.mark;
  for (let commits = 0; commits < 3; commits++) await b.event('committed', ({ outputs }) => outputs > 0, taken + commits);
  const positions = await on.flushedPositions('a');
  a.resume();
  await a.letGo();
  return { a, b, endedAtMs, positions, mark };
}

/** Its share of the tasks comes back, and at the end all of them. */
async function comesBack({ a, b, mark }: Zombie): Promise<void> {
  await a.event('revoked', ({ lost }) => lost, mark);
  await a.until('it has tasks again', () => a.tasksIn('running').length > 0 && a.of('task', mark).some(({ phase }) => phase === 'running'));
  await b.stop();
}

const stateFlushIntervalMs = 500;

/** The broker refuses its offsets, and it gives up the transaction. */
async function refused({ a, mark }: Zombie): Promise<void> {
  const { reason } = await a.event('aborted', () => true, mark);
  expect(reason.code).toBe('STALE_MEMBER');
}

/** Its producer is fenced, and it makes a new one. */
async function replaced({ a, mark }: Zombie): Promise<void> {
  await a.event('producerReplaced', () => true, mark);
}

describe('a zombie', () => {
  it.each([
    [
      'that was suspended before its offsets were sent: is refused, joins again, and uses nothing of what it held, when its tasks come back too',
      { point: 'frozen', transactionTimeoutMs: 60_000, fate: refused },
    ],
    [
      // Changelog records are in the transaction: whoever restores the task has to wait for its end.
      'whose transaction has timed out meanwhile: is fenced, replaces its producer, and uses nothing of what it held',
      { point: 'beforeOffsets', transactionTimeoutMs: 4_000, fate: replaced },
    ],
    [
      'that was suspended between its offsets and its commit, until both have timed out: repeats nothing',
      { point: 'beforeCommit', transactionTimeoutMs: 4_000, fate: replaced },
    ],
  ] as const)('%s', async (_what, { point, transactionTimeoutMs, fate }) => {
    const test = (trial = await Trial.begin('zombie', { topology: 'sums', options: { stateFlushIntervalMs, transactionTimeoutMs } }));
    const flow = test.load.flow(2_500);
    const zombie = await suspendAndResume(test, point);
    await fate(zombie);
    await comesBack(zombie);
    await flow.end(50_000);
    await test.settled();
    expect(await test.problems()).toEqual([]);
    await expectReplays(test, zombie);
  });

  it('with a wall-clock punctuation as its only writer: is refused, joins again, and uses nothing of what it held', async () => {
    const test = (trial = await Trial.begin('zombie-ticks', {
      topology: 'ticks',
      options: { stateFlushIntervalMs, transactionTimeoutMs: 60_000 },
    }));
    const zombie = await suspendAndResume(test, 'frozen');
    await refused(zombie);
    await comesBack(zombie);
    await test.allRunning();
    const { a } = zombie;
    const { mark } = a;
    await a.event('committed', ({ outputs }) => outputs > 0, mark);
    const before = await test.outputs();
    const state = await test.state();
    await a.stop();
    const outputs = await test.outputs();
    expect([...outputs.values()].reduce((sum, counts) => sum + counts.length, 0)).toBeGreaterThanOrEqual(50_000);
    // Each count follows the one before, whoever made it.
    const expected = new Map([...outputs].map(([key, counts]) => [key, counts.map((_, index) => String(index + 1))]));
    expect(differences('output', expected, outputs)).toEqual([]);
    const lasts = new Map([...outputs].map(([key, counts]) => [key, String(counts.length)]));
    expect(differences('changelog', lasts, lastTotals(await test.changelogRecords()))).toEqual([]);
    expect([...state.keys()].sort()).toEqual([...outputs.keys()].sort());
    for (const [key, count] of state) {
      expect(Number(count)).toBeGreaterThanOrEqual(before.get(key)?.length ?? 0);
      expect(Number(count)).toBeLessThanOrEqual(outputs.get(key)?.length ?? 0);
    }
    expect(test.misbehaviour()).toEqual([]);
    await expectReplays(test, zombie);
  });
});

/** What came back was read from the changelog, behind the position that the process had flushed before it stood still. */
async function expectReplays(on: Trial, { a, endedAtMs, positions, mark }: Zombie): Promise<void> {
  const replays = await replaysOf(on, { process: a, endedAtMs, positions }, a, mark);
  expect(replays.problems).toEqual([]);
  expect(replays.checked).toBeGreaterThan(0);
  expect(replays.records).toBeGreaterThan(0);
}
