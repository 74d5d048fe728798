// @ts-check
/** `npm run build`: the libraries, then the applications. With --if-stale only when a source changed since the last build. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setUp } from './setup.mjs';
import { run } from './support/command.mjs';
import { isMain, runMain } from './support/main.mjs';
import { root, tool } from './support/paths.mjs';
import { withProgress } from './support/report.mjs';

const stampFile = join(root, 'dist', '.tally-build');

/** @returns {Promise<{code: number, output: string}>} the first step that failed, or the last one */
export async function build() {
  rmSync(stampFile, { force: true });
  const fingerprint = sourceFingerprint();
  for (const args of steps()) {
    const result = await run(process.execPath, args, { cwd: root });
    if (result.code !== 0) return result;
  }
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(stampFile, fingerprint);
  return { code: 0, output: '' };
}

/** Builds only what a source changed after. */
export async function buildIfStale() {
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === sourceFingerprint()) return { code: 0, output: '' };
  return withProgress('Building the libraries and the applications', build);
}

/** @returns {string[][]} arguments of Node, one step each */
function steps() {
  const compiler = tool('typescript/bin/tsc');
  const libraries = foldersOf('libs').map((name) => join('libs', name, 'tsconfig.lib.json'));
  const applications = foldersOf('apps').filter((name) => existsSync(join(root, 'apps', name, 'tsconfig.app.json')));
  const tools = foldersOf('apps').map((name) => join('apps', name, 'tsconfig.tools.json'));
  return [
    [compiler, '-b', ...libraries.filter((file) => existsSync(join(root, file)))],
    ...applications.map((name) => [tool('@nestjs/cli/bin/nest.js'), 'build', name]),
    ...tools.filter((file) => existsSync(join(root, file))).map((file) => [compiler, '-p', file]),
  ];
}

/** @param {string} parent */
function foldersOf(parent) {
  return readdirSync(join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

/** What a build depends on: names, sizes and dates of the sources, and the packages. */
function sourceFingerprint() {
  const hash = createHash('sha256').update(process.version);
  const sources = ['libs', 'apps'].flatMap((parent) =>
    readdirSync(join(root, parent), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|json)$/.test(file) && !/(^|\/)(dist|node_modules)\//.test(file) && !file.endsWith('.spec.ts'))
      .map((file) => join(parent, file)),
  );
  for (const file of [...sources.sort(), 'package-lock.json', 'tsconfig.base.json', 'nest-cli.json']) {
    const { size, mtimeMs } = statSync(join(root, file));
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    await setUp();
    const { code, output } = process.argv.includes('--if-stale') ? await buildIfStale() : await build();
    if (output !== '') process.stdout.write(output);
    return code;
  });
}
