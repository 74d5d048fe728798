// @ts-check
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Folder that all clones of one user share: what was downloaded or built once on a machine is kept here.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {NodeJS.Platform} platform
 */
export function userCache(env = process.env, platform = process.platform) {
  const configured = env['XDG_CACHE_HOME'];
  if (configured) return join(configured, 'tally');
  return platform === 'darwin' ? join(homedir(), 'Library', 'Caches', 'tally') : join(homedir(), '.cache', 'tally');
}

/**
 * Puts a directory in its place at once, filled: a reader never sees half of it, and of two that fill it at the same time one wins.
 *
 * @param {string} target
 * @param {(directory: string) => void | Promise<void>} fill gets an empty directory beside the target
 */
export async function installDirectory(target, fill) {
  mkdirSync(dirname(target), { recursive: true });
  const draft = mkdtempSync(`${target}.draft-`);
  try {
    await fill(draft);
    replaceDirectory(draft, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * @param {string} draft
 * @param {string} target
 */
function replaceDirectory(draft, target) {
  const old = `${draft}-old`;
  try {
    renameSync(target, old);
  } catch {
    // There was none before.
  }
  try {
    renameSync(draft, target);
  } catch (error) {
    // Another process has put its own there in between, and that one is as good.
    if (!(error instanceof Error) || !('code' in error) || !['ENOTEMPTY', 'EEXIST'].includes(String(error.code))) throw error;
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
}
