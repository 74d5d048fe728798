/** The weaker guarantees under kills: at-least-once loses nothing, at-most-once repeats nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommitPoint } from '@tally/streams';
import { afterEach, describe, expect, it } from 'vitest';
import { differences, lastTotals, withoutRepeats } from './support/model.js';
import { Trial, endTrial } from './support/trial.js';
import type { WorkerProcess } from './support/workers.js';

let trial: Trial | undefined;
afterEach((context) => endTrial(trial, context));

/** Kills the members in turn at the points, under load, and starts each again at once. */
async function killInTurn(on: Trial, points: readonly CommitPoint[]): Promise<void> {
  let [victim, other] = (await on.startAll('a', 'b')) as [WorkerProcess, WorkerProcess];
  const flow = on.load.flow(2_000);
  for (const point of points) {
    await victim.event('committed', ({ records }) => records > 0, victim.mark);
    await victim.plan({ action: 'kill', point, passes: 2 });
    expect(await victim.killedByPlan()).toMatchObject({ point });
    const successor = on.start(victim.name);
    [victim, other] = [other, successor];
    await on.allRunning();
  }
  // One more, at a moment of its own.
  await victim.event('committed', ({ records }) => records > 0, victim.mark);
  await sleep(Math.random() * 300);
  await victim.kill();
  on.start(victim.name);
  await flow.end(50_000);
  await on.settled();
}

describe('at-least-once', () => {
  it('loses nothing under kills; repeats are what had been sent before, and its state is exact', async () => {
    const test = (trial = await Trial.begin('at-least-once', {
      topology: 'sums',
      options: { guarantee: 'at-least-once', stateFlushIntervalMs: 500 },
    }));
    // Outputs are delivered before the commit: those of a transaction that did not happen are sent again.
    await killInTurn(test, ['beforeCommit', 'afterOffsets']);
    const { first, repeats } = withoutRepeats(await test.outputs());
    expect(differences('output', test.model.outputs(), first)).toEqual([]);
    expect(repeats).toBeGreaterThan(0);
    expect(await test.stateProblems()).toEqual([]);
    expect(test.misbehaviour()).toEqual([]);
  });
});

describe('at-most-once', () => {
  it('repeats nothing under kills; its state is what its changelog says', async () => {
    const test = (trial = await Trial.begin('at-most-once', {
      topology: 'sums',
      options: { guarantee: 'at-most-once', stateFlushIntervalMs: 500 },
    }));
    // Offsets are committed before their records are processed: these are lost. A commit may bring nothing but what was processed, and then
    // nothing is lost behind it: so there are several kills.
    await killInTurn(test, ['afterCommit', 'beforeCommit', 'afterCommit', 'afterCommit', 'afterCommit']);
    const { ids, state, changelog } = await quiet(test);
    expect(differences('state', changelog, state)).toEqual([]);
    const processed = [...ids.values()].flat();
    expect(new Set(processed).size).toBe(processed.length);
    for (const [key, each] of ids) {
      expect(each).toEqual([...each].sort((left, right) => left - right));
      const sent = new Set(test.model.ids.get(key));
      expect(each.filter((id) => !sent.has(id))).toEqual([]);
    }
    const totals = test.model.totals();
    for (const [key, total] of state) expect(Number(total)).toBeLessThanOrEqual(Number(totals.get(key)));
    expect(processed.length).toBeLessThan(test.model.records);
    // A kill loses what the instance had taken, which after a pause is much, but never what it takes afterwards.
    expect(processed.length).toBeGreaterThan(test.model.records / 2);
    expect(test.misbehaviour()).toEqual([]);
  });
});

interface Outcome {
  /** Ids of the outputs, by key. */
  readonly ids: ReadonlyMap<string, readonly number[]>;
  readonly state: ReadonlyMap<string, string>;
  readonly changelog: ReadonlyMap<string, string>;
}

/** What has come out when nothing comes any more: at most once commits offsets first, so they say nothing about the end of the work. */
async function quiet(on: Trial): Promise<Outcome> {
  let before = '';
  for (let looks = 0; looks < 60; looks++) {
    const outputs = await on.outputs();
    const outcome = {
      ids: new Map([...outputs].map(([key, values]) => [key, values.map((value) => Number(value.split(':')[0]))])),
      state: await on.state(),
      changelog: lastTotals(await on.changelogRecords()),
    };
    const text = JSON.stringify(Object.values(outcome).map((map) => [...map]));
    if (text === before) return outcome;
    before = text;
    await sleep(1_000);
  }
  throw new Error(`The outputs do not come to rest.\n${on.describe()}`);
}
