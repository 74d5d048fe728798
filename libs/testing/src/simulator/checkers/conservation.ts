/** Sums are conserved: the scenario says which. */
import type { Checker } from './checker.js';

export const conservation: Checker = {
  name: 'conservation',
  check({ evidence, model, guarantee }) {
    // The weaker guarantees repeat or lose, and sums with it.
    if (guarantee !== 'exactly-once') return [];
    return evidence.eras.flatMap(({ inputs, outputs, complete }) => {
      const stores = complete ? evidence.changelogs : undefined;
      return model.conserved({ inputs, outputs, stores: stores ?? new Map(), complete: complete && stores !== undefined });
    });
  },
};
