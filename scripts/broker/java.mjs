// @ts-check
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run, which } from '../support/command.mjs';

export const oldestJava = 17;

/**
 * @param {string} output of `java -version`
 * @returns {number | undefined} the major version: 17 for `17.0.15`, 8 for `1.8.0_402`
 */
export function javaMajor(output) {
  const match = /version "(?:1\.)?(\d+)/.exec(output);
  return match === null ? undefined : Number(match[1]);
}

/**
 * @typedef {{executable: string, major: number}} Java
 * @returns {Promise<{java?: Java, tooOld?: Java}>} the first Java that is new enough, else one that is not
 */
export async function findJava(env = process.env) {
  let tooOld;
  for (const executable of await candidates(env)) {
    const { code, output } = await run(executable, ['-version'], { timeoutMs: 20_000 });
    const major = code === 0 ? javaMajor(output) : undefined;
    if (major === undefined) continue;
    if (major >= oldestJava) return { java: { executable, major } };
    tooOld ??= { executable, major };
  }
  return tooOld === undefined ? {} : { tooOld };
}

/** @param {NodeJS.ProcessEnv} env */
async function candidates(env) {
  const found = new Set();
  const home = env['JAVA_HOME'];
  if (home && existsSync(join(home, 'bin', 'java'))) found.add(join(home, 'bin', 'java'));
  const onPath = which('java', env['PATH']);
  if (onPath !== undefined) found.add(onPath);
  if (process.platform === 'darwin' && existsSync('/usr/libexec/java_home')) {
    const { code, stdout } = await run('/usr/libexec/java_home', ['-v', `${oldestJava}+`], { timeoutMs: 10_000 });
    if (code === 0) found.add(join(stdout.trim(), 'bin', 'java'));
  }
  return found;
}
