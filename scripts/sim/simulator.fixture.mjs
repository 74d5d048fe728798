// @ts-check
/** Stands for a simulator whose engine is broken in every way: seed 1 is right, 2 is noticed, 3 crashes the process, 4 hangs, 5 rejects. */

/** @param {number} seed */
export async function runHistory(seed) {
  if (seed === 3) process.exit(3);
  if (seed === 4) await new Promise(() => setInterval(() => {}, 1_000));
  if (seed === 5) throw new Error('the simulator is at fault');
  return { seed, faultsFired: {}, violations: seed === 2 ? [{ checker: 'output', message: 'one too many' }] : [], lines: [] };
}
