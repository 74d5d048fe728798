// @ts-check
/** `npm run typecheck`: everything that is written in TypeScript, tests included, and the scripts' annotations. */
import { setUp } from './setup.mjs';
import { runMain } from './support/main.mjs';

await runMain(async () => {
  await setUp();
  const { typecheck } = await import('./checks/tools.mjs');
  const { code, output } = await typecheck();
  process.stdout.write(code === 0 ? 'No faults were found.\n' : output);
  return code;
});
