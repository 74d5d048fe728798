// @ts-check
import { PlainError } from '../../support/report.mjs';
import { mutation as a } from './a.mjs';
import { mutation as b } from './b.mjs';
import { mutation as c } from './c.mjs';
import { mutation as d } from './d.mjs';
import { mutation as e } from './e.mjs';
import { mutation as f } from './f.mjs';
import { mutation as g } from './g.mjs';
import { mutation as h } from './h.mjs';
import { mutation as i } from './i.mjs';
import { mutation as j } from './j.mjs';
import { mutation as k } from './k.mjs';
import { mutation as l } from './l.mjs';
import { mutation as m } from './m.mjs';
import { mutation as n } from './n.mjs';
import { mutation as o } from './o.mjs';
import { mutation as p } from './p.mjs';
import { mutation as q } from './q.mjs';
import { mutation as r } from './r.mjs';

/**
 * The ways to break the engine, each of which the simulator's checkers have to notice.
 *
 * @type {readonly import('../mutation.mjs').Mutation[]}
 */
export const mutations = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r];

/**
 * @param {readonly string[]} letters empty for all
 * @throws PlainError for a letter that no mutation has
 */
export function chosenMutations(letters) {
  const unknown = letters.find((wanted) => !mutations.some(({ letter }) => letter === wanted));
  if (unknown !== undefined) throw new PlainError(`There is no mutation '${unknown}'. They go from a to r.`);
  return letters.length === 0 ? mutations : mutations.filter(({ letter }) => letters.includes(letter));
}
