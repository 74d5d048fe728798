// @ts-check
/**
 * Prometheus for the tests: the one on the search path, or Debian's package, which is only unpacked into the user cache. To install it would start a
 * service on the machine.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run, which } from './support/command.mjs';
import { say, withProgress } from './support/report.mjs';
import { installDirectory, userCache } from './support/user-cache.mjs';

/**
 * @typedef {object} Prometheus
 * @property {string} prometheus path of the server
 * @property {string} promtool path of the checker
 */

const unpacked = () => join(userCache(), 'prometheus');

/** @returns {Prometheus | undefined} what is there already */
export function findPrometheus() {
  const [prometheus, promtool] = [which('prometheus'), which('promtool')];
  if (prometheus !== undefined && promtool !== undefined) return { prometheus, promtool };
  const folder = join(unpacked(), 'usr', 'bin');
  const kept = { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') };
  return existsSync(kept.prometheus) && existsSync(kept.promtool) ? kept : undefined;
}

/** Why the tests with Prometheus are left out, for their names. */
export const withoutPrometheus = 'no prometheus and promtool on the search path, and no apt-get that could bring them';

/** Brings Prometheus where none is there and apt-get can; says why not where it cannot. */
export async function providePrometheus() {
  if (findPrometheus() !== undefined) return;
  if (which('apt-get') === undefined || which('dpkg-deb') === undefined) {
    say(`Tests with a real Prometheus are left out: ${withoutPrometheus}.`);
    return;
  }
  try {
    await withProgress("Fetching Debian's package of Prometheus", () => installDirectory(unpacked(), unpack));
  } catch (error) {
    say(`Tests with a real Prometheus are left out: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** @param {string} directory */
async function unpack(directory) {
  const download = () => run('apt-get', ['download', 'prometheus'], { cwd: directory, timeoutMs: 5 * 60_000 });
  let { code, output } = await download();
  if (code !== 0 && process.getuid?.() === 0) {
    // The lists of packages may be old, or not there.
    await run('apt-get', ['update'], { timeoutMs: 5 * 60_000 });
    ({ code, output } = await download());
  }
  const file = readdirSync(directory).find((name) => name.endsWith('.deb'));
  if (code !== 0 || file === undefined) throw new Error(`apt-get download prometheus: ${output.trim()}`);
  const extracted = await run('dpkg-deb', ['-x', file, '.'], { cwd: directory, timeoutMs: 60_000 });
  if (extracted.code !== 0) throw new Error(`dpkg-deb -x ${file}: ${extracted.output.trim()}`);
}
