// @ts-check
/** The command line tools that check the code, each run on the whole clone. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../support/command.mjs';
import { root, tool } from '../support/paths.mjs';

/** Folders with code that people write. */
const sources = ['libs', 'apps', 'test', 'bench', 'scripts'];

/** @param {readonly string[]} extra arguments of the linter */
export function lintCode(extra = []) {
  return run(process.execPath, [tool('oxlint/bin/oxlint'), '--type-aware', '--deny-warnings', ...extra, ...present()], { cwd: root });
}

export function checkArrows() {
  const args = [
    tool('dependency-cruiser/bin/dependency-cruise.mjs'),
    ...present(),
    '--config',
    '.dependency-cruiser.cjs',
    '--output-type',
    'err',
  ];
  return run(process.execPath, args, { cwd: root });
}

/** @param {'--check' | '--write'} mode */
export function format(mode) {
  return run(process.execPath, [tool('oxfmt/bin/oxfmt'), mode, '.'], { cwd: root });
}

export function typecheck() {
  return run(process.execPath, [tool('typescript/bin/tsc'), '--pretty', 'false', '-p', 'tsconfig.json'], { cwd: root });
}

function present() {
  return sources.filter((folder) => existsSync(join(root, folder)));
}
