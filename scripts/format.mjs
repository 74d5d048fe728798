// @ts-check
/** `npm run format` formats all files in place; `npm run format:check` only says which are not. */
import { setUp } from './setup.mjs';
import { runMain } from './support/main.mjs';

await runMain(async () => {
  await setUp();
  const { format } = await import('./checks/tools.mjs');
  const { code, output } = await format(process.argv.includes('--check') ? '--check' : '--write');
  process.stdout.write(output);
  return code;
});
