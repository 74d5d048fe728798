// @ts-check
/**
 * `npm run sim -- --seeds 500 --start 1`: runs the engine under seeded crashes, fencing and rebalances, in memory. Exits with 1 when a
 * checker finds a violation. With --mutations the engine is broken on purpose, and a checker has to find it.
 */
import { buildIfStale } from './build.mjs';
import { setUp } from './setup.mjs';
import { parseArguments, usage } from './sim/arguments.mjs';
import { chosenMutations } from './sim/mutations/index.mjs';
import { runPlanFile, runSeeds } from './sim/run-seeds.mjs';
import { runMain } from './support/main.mjs';
import { PlainError, tail } from './support/report.mjs';

await runMain(async () => {
  const options = parseArguments(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  await setUp();
  const { code, output } = await buildIfStale();
  if (code !== 0) throw new PlainError(`The build failed:\n${tail(output)}`);
  /** @param {string} line */
  const write = (line) => process.stdout.write(`${line}\n`);
  if (options.plan !== undefined) return runPlanFile(await import('@tally/testing'), options.plan, options.trace, write);
  if (options.mutations === undefined) return runSeeds(await import('@tally/testing'), options, write);
  const { runMutations } = await import('./sim/run-mutations.mjs');
  const { missed, violations } = await runMutations(chosenMutations(options.mutations), options, write);
  return missed + violations === 0 ? 0 : 1;
});
