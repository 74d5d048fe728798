/** Shrunk schedules in which a checker once found a bug of the engine. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { planFromJson, runPlan } from './index.js';

const folder = new URL('kept/', import.meta.url);

/** What was wrong, by the name of the file. */
const wrong: Readonly<Record<string, string>> = {
  'buffers.json': 'a batch of large records went far beyond the bound of memory',
  'overtaken.json': 'a zombie stopped for records that its successor had processed and retention had deleted',
  'stray-inits.json':
    'a worker took initialisations of its own, which it had given up on and which came late, for another process with its id',
  'stale-opening.json': "a zombie that opened a task took its successor's first commit for state whose offsets have expired",
};

describe('a schedule that once found a bug', () => {
  it.each(readdirSync(folder))('finds nothing any more: %s', async (file) => {
    expect(wrong).toHaveProperty([file]);
    const plan = planFromJson(readFileSync(new URL(file, folder), 'utf8'));
    const { violations } = await runPlan(plan);
    expect(violations).toEqual([]);
  });
});
