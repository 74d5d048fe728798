// @ts-check
/** `npm test`: sets the clone up, checks and tests everything. Its last line is `N passed, N failed` over all parts. */
import { setUp } from './setup.mjs';
import { runMain } from './support/main.mjs';
import { PlainError } from './support/report.mjs';
import { parseArguments, usage } from './test/arguments.mjs';
import { parts } from './test/parts.mjs';
import { runParts, summary } from './test/run-parts.mjs';

/** @param {string} line */
const write = (line) => process.stdout.write(`${line}\n`);

await runMain(async () => {
  const { names, filter, verbose, help } = parseArguments(process.argv.slice(2), parts);
  if (help) {
    process.stdout.write(`${usage}Parts: ${parts.map(({ name }) => name).join(', ')}\n`);
    return 0;
  }
  const first = { title: 'set-up', run: async () => setUp().then(() => ({ passed: 1, failed: 0, output: '' })) };
  const setUpOutcome = await runParts([first], undefined, { verbose, write });
  const chosen = setUpOutcome.failed > 0 ? [] : parts.filter(({ name }) => names.includes(name));
  if (setUpOutcome.failed === 0 && chosen.length === 0) throw new PlainError(`No part was chosen.\n${usage}`);
  const outcome = await runParts(chosen, { filter, verbose, reports: [] }, { verbose, write });
  const { line, code } = summary({ passed: setUpOutcome.passed + outcome.passed, failed: setUpOutcome.failed + outcome.failed });
  write(line);
  return code;
});
