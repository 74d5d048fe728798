// @ts-check
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MissingError, PlainError } from './report.mjs';

/**
 * Whether a module is the script that Node was started with, and not imported by another one.
 *
 * @param {string} url the module's `import.meta.url`
 */
export function isMain(url) {
  const script = process.argv[1];
  return script !== undefined && realpathSync(script) === realpathSync(fileURLToPath(url));
}

/**
 * Runs a script's main function: a missing thing or a usage error is told without a stack trace, since its message says all there is to say.
 *
 * @param {() => Promise<number | void>} main answers the exit code
 */
export async function runMain(main) {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    const plain = error instanceof MissingError || error instanceof PlainError;
    process.stderr.write(`\n${plain ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  }
}
