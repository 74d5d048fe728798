import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { HistoryRunner } from './history-runner.mjs';

const entry = fileURLToPath(new URL('simulator.fixture.mjs', import.meta.url));

describe('histories in a process of their own', () => {
  const runners = [];
  const runnerOf = (boundMs) => {
    const runner = new HistoryRunner(entry, boundMs);
    runners.push(runner);
    return runner;
  };
  afterEach(() => runners.splice(0).forEach((runner) => runner.close()));

  it('answer with what the checkers found', async () => {
    const runner = runnerOf();
    expect(await runner.run(1)).toEqual({ violations: [] });
    expect(await runner.run(2)).toEqual({ violations: [{ checker: 'output', message: 'one too many' }] });
    expect(await runner.run(1)).toEqual({ violations: [] });
  });

  it('tell of a process that crashed, and go on in a new one', async () => {
    const runner = runnerOf();
    expect(await runner.run(3)).toEqual({ ended: expect.stringContaining('code 3') });
    expect(await runner.run(5)).toEqual({ ended: expect.stringContaining('the simulator is at fault') });
    expect(await runner.run(1)).toEqual({ violations: [] });
  });

  it('tell of one that hangs, and go on in a new one', async () => {
    const runner = runnerOf(1_000);
    expect(await runner.run(4)).toEqual({ ended: 'it did not end within 1 s' });
    runner.boundMs = 60_000;
    expect(await runner.run(1)).toEqual({ violations: [] });
  });
});
