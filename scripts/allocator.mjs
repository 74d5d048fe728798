// @ts-check
/**
 * Finds a memory allocator to preload: jemalloc or mimalloc, in the place of the C library's own, make a worker faster.
 * TALLY_ALLOCATOR is the path of a library, or `none`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { installCommand, installSystemPackages, mayInstall, packageManager, packageManagers } from './setup/system-packages.mjs';
import { isMain, runMain } from './support/main.mjs';
import { PlainError, say } from './support/report.mjs';

/** In the order of preference. */
const names =
  process.platform === 'darwin' ? [/^libjemalloc.*\.dylib$/, /^libmimalloc.*\.dylib$/] : [/^libjemalloc\.so/, /^libmimalloc\.so/];

/** The client's threads free what others have allocated: with one arena it is used again at once, with one per thread it piles up. */
const jemallocSettings = 'narenas:1';

/**
 * @typedef {object} Allocator
 * @property {string} title for a start-up line
 * @property {string | undefined} library its path, nothing for the C library's own
 * @property {Record<string, string>} env what a child process needs to use it
 *
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Allocator}
 */
export function chooseAllocator(env = process.env) {
  const variable = process.platform === 'darwin' ? 'DYLD_INSERT_LIBRARIES' : 'LD_PRELOAD';
  const wanted = env['TALLY_ALLOCATOR'];
  if (wanted === 'none') return { title: "the C library's own", library: undefined, env: { [variable]: '' } };
  if (wanted && !existsSync(wanted)) throw new PlainError(`TALLY_ALLOCATOR names ${wanted}, which does not exist.`);
  const library = wanted || findAllocator();
  if (library === undefined) {
    return {
      title: `the C library's own (no jemalloc or mimalloc was found: ${installCommand(bestPackage, packageManager() ?? packageManagers[0])})`,
      library: undefined,
      env: {},
    };
  }
  const others = env[variable];
  const preload = others && !others.split(':').includes(library) ? `${library}:${others}` : library;
  const settings = basename(library).startsWith('libjemalloc') ? { MALLOC_CONF: env['MALLOC_CONF'] ?? jemallocSettings } : {};
  return { title: `${basename(library)} (${library})`, library, env: { [variable]: preload, ...settings } };
}

/** @param {import('./setup/system-packages.mjs').PackageManager} manager */
const bestPackage = (manager) => [manager.allocators[0]];

/**
 * Installs an allocator where none is found and the user names none, if packages may be installed unasked. It only saves time: nothing fails
 * because of it.
 *
 * @param {NodeJS.ProcessEnv} [env]
 * @param {() => string | undefined} [find]
 */
export async function provideAllocator(env = process.env, find = findAllocator) {
  if (env['TALLY_ALLOCATOR'] || find() !== undefined || !(await mayInstall())) return;
  // The names differ between releases of one distribution.
  for (const name of packageManager()?.allocators ?? []) {
    try {
      await installSystemPackages([name], { why: 'A worker may be faster with it.', choose: bestPackage });
      return;
    } catch (error) {
      say(`Going on without ${name}, which only makes it faster. ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/**
 * @param {readonly string[]} [folders]
 * @param {readonly string[]} [cached] what the dynamic linker knows
 */
export function findAllocator(folders = libraryFolders(), cached = process.platform === 'linux' ? linkerCache() : []) {
  for (const name of names) {
    const known = cached.find((path) => name.test(basename(path)) && existsSync(path));
    if (known !== undefined) return known;
    for (const folder of folders) {
      const found = existsSync(folder) ? readdirSync(folder).find((file) => name.test(file)) : undefined;
      if (found !== undefined) return join(folder, found);
    }
  }
  return undefined;
}

function libraryFolders() {
  const folders = ['/usr/local/lib', '/usr/lib', '/usr/lib64', '/opt/homebrew/lib'];
  const multiarch = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter((name) => name.includes('-linux-')) : [];
  return [...folders, ...multiarch.map((name) => join('/usr/lib', name))];
}

/** @returns {string[]} the libraries that the dynamic linker knows for this processor's native width */
function linkerCache() {
  for (const command of ['ldconfig', '/sbin/ldconfig']) {
    try {
      const output = execFileSync(command, ['-p'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 });
      return [...output.matchAll(/\(.*(?:x86-64|AArch64).*\) => (\S+)/g)].map((match) => match[1] ?? '');
    } catch {
      // Not on this path, or not on this system.
    }
  }
  return [];
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const { title, env } = chooseAllocator();
    console.error(`Allocator: ${title}`);
    for (const [name, value] of Object.entries(env)) console.log(`${name}=${value}`);
  });
}
