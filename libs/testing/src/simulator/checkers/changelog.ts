/** The changelogs say what the model says and what was answered, and every disk agrees with them. */
import type { Checker } from './checker.js';
import { compareContents } from './contents.js';

export const changelog: Checker = {
  name: 'changelog',
  check({ evidence, model, guarantee }) {
    const { changelogs, queried, disksAstray } = evidence;
    const era = evidence.eras.at(-1);
    if (changelogs === undefined || era === undefined) return disksAstray;
    const problems = [...disksAstray];
    if (guarantee !== 'at-most-once') {
      for (const [store, expected] of model.expect(era.inputs).stores) {
        const held = changelogs.get(store);
        // Entries of other kinds of stores are no single rows: what was answered tells.
        if (held !== undefined) problems.push(...compareContents(`the changelog of ${store}`, expected, held));
      }
    }
    // What a punctuator writes after the answer is in the changelog only.
    if (queried === undefined || model.changesAtRest === true) return problems;
    for (const [store, contents] of changelogs)
      problems.push(...compareContents(`the answer about ${store}`, contents, queried.get(store)));
    return problems;
  },
};
