/** Members that join and leave under load, over two topics that are partitioned alike. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsumedRecord } from '@tally/streams';
import { afterEach, describe, expect, it } from 'vitest';
import { differences, sequencesOf } from './support/model.js';
import { Trial, endTrial } from './support/trial.js';
import type { WorkerProcess } from './support/workers.js';

let trial: Trial | undefined;
afterEach((context) => endTrial(trial, context));

const recordsPerSecond = 3_000;

async function begin(): Promise<Trial> {
  trial = await Trial.begin('members', {
    topology: 'pair',
    inputs: ['left', 'right'],
    partitions: 6,
    options: { stateFlushIntervalMs: 500 },
  });
  return trial;
}

/** Every member has work, and every task has one member. */
async function spread(on: Trial, ...members: readonly WorkerProcess[]): Promise<void> {
  for (const member of members) await member.until('it has tasks', () => member.tasksIn('running').length > 0);
  await on.allRunning();
}

describe('members that come and go under load', () => {
  it.each([
    ['graceful leaves', (member: WorkerProcess) => member.stop()],
    ['kills', (member: WorkerProcess) => member.kill()],
  ])('two, three, and one after %s: every record once, and what is joined stays together', async (_how, leave) => {
    const test = await begin();
    const [a, b] = await start(test, 'a', 'b');
    const flow = test.load.flow(recordsPerSecond);
    await processing(a, b);
    const c = test.start('c');
    await spread(test, a, b, c);
    await processing(a, b, c);
    await leave(a);
    await spread(test, b, c);
    await processing(b, c);
    await leave(c);
    await spread(test, b);
    await flow.end(50_000);
    await expectExact(test);
  });

  it('again and again, while others are still joining: every record once', async () => {
    const test = await begin();
    const [a] = await start(test, 'a');
    const flow = test.load.flow(recordsPerSecond);
    await processing(a);
    let moves = 0;
    for (let round = 0; round < 4; round++) {
      const guests = [test.start('b'), test.start('c')];
      for (const guest of guests) await guest.event('phase', ({ phase }) => phase === 'running');
      await sleep(Math.random() * 2_500);
      await Promise.all(guests.map((guest) => guest.stop()));
      moves += guests.reduce((sum, guest) => sum + guest.of('assigned').length, 0);
    }
    expect(moves).toBeGreaterThan(0);
    await flow.end(50_000);
    await expectExact(test);
  });
});

async function expectExact(on: Trial): Promise<void> {
  await on.settled();
  expect(await problems(on)).toEqual([]);
  expect(togetherProblems(on)).toEqual([]);
  expect(await mixtures(on)).toEqual([]);
}

async function start<Names extends readonly string[]>(on: Trial, ...names: Names): Promise<{ [Index in keyof Names]: WorkerProcess }> {
  return (await on.startAll(...names)) as { [Index in keyof Names]: WorkerProcess };
}

/** Resolves when each member has committed records from now on. */
async function processing(...members: readonly WorkerProcess[]): Promise<void> {
  await Promise.all(members.map((member) => member.event('committed', ({ records }) => records > 0, member.mark)));
}

/** Output, changelog and state against the model. Records of one key come from two topics, so any order that keeps each topic's is right. */
async function problems(on: Trial): Promise<readonly string[]> {
  const found: string[] = [];
  const processed = new Map<string, readonly number[]>();
  for (const [key, values] of sequencesOf(await on.cluster.read(on.output))) {
    let total = 0;
    const ids: number[] = [];
    for (const value of values) {
      const [id = 0, after = 0] = value.split(':').map(Number);
      total += id;
      if (after !== total) found.push(`output of ${key}: ${value} came after a total of ${total - id}`);
      ids.push(id);
    }
    processed.set(key, ids);
  }
  // Ids go to the two topics by turns: the order within a topic is that of its odd or its even ids.
  for (const parity of [0, 1]) {
    const ofTopic = (all: ReadonlyMap<string, readonly number[]>) =>
      new Map([...all].map(([key, ids]) => [key, ids.filter((id) => id % 2 === parity)]));
    found.push(...differences('records', ofTopic(on.model.ids), ofTopic(processed)));
  }
  return [...found, ...(await on.stateProblems()), ...on.misbehaviour()];
}

/** After each rebalance of each member: partitions of the one topic that it has without that of the other. */
function togetherProblems(on: Trial): readonly string[] {
  const [left = '', right = ''] = on.inputs;
  return on.processes.flatMap((process) => {
    const owned = new Map([left, right].map((topic) => [topic, new Set<number>()]));
    return process.events.flatMap((event) => {
      if (event.event !== 'assigned' && event.event !== 'revoked') return [];
      for (const { topic, partition } of event.partitions) {
        if (event.event === 'assigned') owned.get(topic)?.add(partition);
        else owned.get(topic)?.delete(partition);
      }
      const sides = [left, right].map((topic) => [...(owned.get(topic) ?? [])].sort().join(' '));
      return sides[0] === sides[1]
        ? []
        : [`${process.name} had ${sides[0]} of the one topic and ${sides[1]} of the other after ${JSON.stringify(event)}`];
    });
  });
}

/** Output partitions in which the members' turns do not follow one another: more changes than tasks were opened there. */
async function mixtures(on: Trial): Promise<readonly string[]> {
  const records = await on.cluster.read(on.output);
  return Array.from({ length: on.partitions }, (_, partition) => {
    const members = records.filter((record) => record.partition === partition).map(memberOf);
    const turns = members.filter((member, index) => member !== members[index - 1]).length;
    const openings = on.processes.flatMap((process) =>
      process.of('task').filter(({ task, phase }) => task.endsWith(`/${partition}`) && phase === 'running'),
    ).length;
    return turns > openings
      ? `the output of partition ${partition} has ${turns} turns of members, and the task was opened ${openings} times`
      : '';
  }).filter((problem) => problem !== '');
}

function memberOf({ headers }: ConsumedRecord): string {
  return Buffer.from(headers.find(({ name }) => name === 'member')?.value ?? []).toString();
}
