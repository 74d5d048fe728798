import { describe, expect, it } from 'vitest';
import { hunt, lineOf } from './hunt.mjs';

const mutation = { letter: 'x', title: 'nothing done', harm: 'none', seeds: [7, 9], edits: [] };
const search = { start: 5, seeds: 4, hunt: false };
const noticedAt =
  (...wanted) =>
  async (seed) => ({ violations: wanted.includes(seed) ? [{ checker: 'output', message: 'one\n  too many' }] : [] });

describe('the search for a mutation', () => {
  it('tries the recorded seeds first, and ends with the first that shows it', async () => {
    const found = await hunt(mutation, search, noticedAt(9, 8));
    expect(found.seeds).toEqual([7, 9]);
    expect(lineOf(found)).toBe('caught (x) nothing done: by output at seed 9, 2 histories: one too many');
  });

  it('goes on with the others, each once, and asks for the seed to be recorded', async () => {
    const found = await hunt(mutation, search, noticedAt(8));
    expect(found.seeds).toEqual([7, 9, 5, 6, 8]);
    expect(lineOf(found)).toBe(
      'caught (x) nothing done: by output at seed 8, 5 histories, record it: 7 and 9 do not show it any more: one too many',
    );
  });

  it('runs all seeds as a hunt, and tells which of them show it', async () => {
    const found = await hunt(mutation, { ...search, hunt: true }, noticedAt(6, 8));
    expect(found.seeds).toEqual([5, 6, 7, 8]);
    expect(lineOf(found)).toBe('caught (x) nothing done: by output at seed 6, 4 histories, in 2 of them: also seeds 8: one too many');
  });

  it('does not take a crash, a hang or a broken rule for the finding of a checker', async () => {
    const endings = { 7: { ended: 'it crashed' }, 5: { violations: [{ checker: 'liveness', message: 'stuck' }] } };
    const found = await hunt(
      mutation,
      search,
      async (seed) => endings[seed] ?? { violations: [{ checker: 'port', message: 'two at once' }] },
    );
    expect(found.catches).toEqual([]);
    expect(found.seeds).toHaveLength(5);
    expect(lineOf(found)).toBe('MISSED (x) nothing done: 5 histories; seed 7: it crashed');
  });
});
