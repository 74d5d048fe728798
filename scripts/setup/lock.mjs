// @ts-check
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onExit } from '../support/on-exit.mjs';
import { say } from '../support/report.mjs';
import { processIdentity } from '../support/process-identity.mjs';

/**
 * Runs something that only one process per clone may do at a time; another one waits. A lock that a killed process left behind is taken over.
 *
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, work) {
  mkdirSync(dirname(file), { recursive: true });
  let told = false;
  while (!tryLock(file)) {
    if (!told) say('Waiting for another set-up of this clone to end ...');
    told = true;
    await sleep(200);
  }
  const forget = onExit(() => rmSync(file, { force: true }));
  try {
    return await work();
  } finally {
    forget();
    rmSync(file, { force: true });
  }
}

/** @param {string} file */
function tryLock(file) {
  try {
    const handle = openSync(file, 'wx');
    writeSync(handle, JSON.stringify({ pid: process.pid, identity: processIdentity(process.pid) }));
    closeSync(handle);
    return true;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EEXIST') throw error;
    if (isAbandoned(file)) rmSync(file, { force: true });
    return false;
  }
}

/** @param {string} file */
function isAbandoned(file) {
  try {
    const { pid, identity } = JSON.parse(readFileSync(file, 'utf8'));
    return processIdentity(pid) !== identity;
  } catch {
    // Empty: its owner is just writing it. Gone: the next try gets it.
    return false;
  }
}
