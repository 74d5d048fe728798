// @ts-check
/** `npm run lint`: the linter, the import arrows, and the ban on time and chance in the engine. Arguments such as --fix are the linter's. */
import { setUp } from './setup.mjs';
import { runMain } from './support/main.mjs';

await runMain(async () => {
  await setUp();
  const { checkArrows, lintCode } = await import('./checks/tools.mjs');
  const { findNondeterminism } = await import('./checks/determinism.mjs');
  const results = [await lintCode(process.argv.slice(2)), await checkArrows()];
  const { faults } = findNondeterminism();
  for (const { code, output } of results) if (code !== 0) process.stdout.write(output);
  for (const fault of faults) console.log(fault);
  const clean = faults.length === 0 && results.every(({ code }) => code === 0);
  if (clean) console.log('No faults were found.');
  return clean ? 0 : 1;
});
