import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LevelDbPowerCuts, MemoryPowerCuts, type PowerCuts } from './power-cut.suite.js';
import { Subject } from './task-state.model.suite.js';
import { cacheBounds, steps } from './task-state.steps.suite.js';
import type { Step } from './task-state.steps.suite.js';

/** Thousands of steps, each checked whole: seconds of work, more where other tests share the processor. */
const timeoutMs = 60_000;

async function run(subject: Subject, sequence: readonly Step[]): Promise<void> {
  await subject.start();
  try {
    for (const step of sequence) {
      await subject.apply(step);
      subject.check();
    }
  } finally {
    await subject.end();
  }
}

/** Both fates are met in any case: few random sequences come to a crash while something is being flushed. */
const cutWhileFlushing: Step[] = [
  { kind: 'put', store: 0, key: 0, value: 1 },
  { kind: 'commit' },
  { kind: 'flush' },
  { kind: 'put', store: 0, key: 0, value: 2 },
  { kind: 'put', store: 1, key: 1, value: 3 },
  { kind: 'commit' },
  { kind: 'startFlush' },
  { kind: 'crash' },
  { kind: 'put', store: 0, key: 2, value: 4 },
  { kind: 'commit' },
  { kind: 'flush' },
];

/** Runs that many sequences, with power cuts that drop the batch under way and power cuts that keep it. */
async function checkAgainstModel(makeCuts: () => PowerCuts, directoryOf: (run: number) => string, numRuns: number): Promise<void> {
  const seen = { dropped: 0, landed: 0 };
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(steps, cacheBounds, fc.boolean(), async (sequence, cacheBytesMax, landing) => {
      const cuts = makeCuts();
      const directory = directoryOf(runs++);
      const fate = landing ? 'landed' : 'dropped';
      const crash = async ({ flushing }: Subject): Promise<typeof fate> => {
        const flush = async (): Promise<void> => {
          flushing?.release();
          await flushing?.done;
        };
        if (flushing !== undefined) seen[fate] += 1;
        await cuts.cutPower(directory, landing ? 1 : 0, flushing === undefined ? undefined : flush);
        return fate;
      };
      await run(new Subject(cuts.engine, directory, cacheBytesMax, crash), sequence);
    }),
    { numRuns, examples: [false, true].map((landing) => [cutWhileFlushing, 1000, landing]) },
  );
  expect(seen.dropped).toBeGreaterThan(0);
  expect(seen.landed).toBeGreaterThan(0);
}

describe('a task state equals its model, through power cuts too', () => {
  it(
    'in memory',
    async () => {
      await checkAgainstModel(
        () => new MemoryPowerCuts(),
        () => 'memory/task',
        300,
      );
    },
    timeoutMs,
  );

  it(
    'in LevelDB',
    async () => {
      const parent = await mkdtemp(join(tmpdir(), 'tally-model-'));
      await checkAgainstModel(
        () => new LevelDbPowerCuts(),
        (number) => join(parent, String(number)),
        30,
      );
      await rm(parent, { recursive: true, force: true });
    },
    timeoutMs,
  );
});
