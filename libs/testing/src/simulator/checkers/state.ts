/** What running workers answer is the model's, and each key is held by one of them. */
import type { Checker } from './checker.js';
import { compareContents } from './contents.js';

export const state: Checker = {
  name: 'state',
  check({ evidence, model, guarantee }) {
    const era = evidence.eras.at(-1);
    if (evidence.queried === undefined || era === undefined) return evidence.heldTwice;
    const problems = [...evidence.heldTwice];
    if (guarantee === 'at-most-once') return problems;
    for (const [store, expected] of model.expect(era.inputs).stores) {
      problems.push(...compareContents(`store ${store}`, expected, evidence.queried.get(store)));
    }
    return problems;
  },
};
