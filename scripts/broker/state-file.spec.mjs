// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processIdentity } from '../support/process-identity.mjs';
import { disown, newDirectory } from './broker-directory.mjs';
import { readState, removeState, writeState } from './state-file.mjs';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-state-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/**
 * @param {number | undefined} pid
 * @param {string | undefined} identity
 */
function stateOf(pid, identity) {
  return {
    brokers: '127.0.0.1:1',
    directory,
    startedAt: 'now',
    engine: { kind: /** @type {const} */ ('java'), pid, identity, logFile: '' },
  };
}

describe('the state file of a broker', () => {
  it('is believed while its process lives', () => {
    const file = join(directory, 'deep', 'broker.json');
    writeState(file, stateOf(process.pid, processIdentity(process.pid)));
    expect(readState(file).state?.brokers).toBe('127.0.0.1:1');
    removeState(file);
    expect(readState(file)).toEqual({});
  });

  it('is stale when its process has ended', async () => {
    const child = spawn('sleep', ['60']);
    const identity = processIdentity(child.pid ?? 0);
    expect(identity).toBeDefined();
    const file = join(directory, 'broker.json');
    writeState(file, stateOf(child.pid, identity));
    expect(readState(file).state).toBeDefined();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(readState(file).stale?.startedAt).toBe('now');
  });

  it('is stale when the number of its process belongs to another one', () => {
    const file = join(directory, 'broker.json');
    writeState(file, stateOf(process.pid, 'started at another time'));
    expect(readState(file).stale).toBeDefined();
  });

  it('is none when it is torn', () => {
    const file = join(directory, 'broker.json');
    writeFileSync(file, '{"brokers": "127');
    expect(readState(file)).toEqual({});
  });
});

describe('the directory of a broker', () => {
  it('goes when its owner was killed, and only then', () => {
    const own = newDirectory(directory);
    const detached = newDirectory(directory);
    disown(detached);
    const abandoned = join(directory, 'abandoned');
    mkdirSync(abandoned);
    writeFileSync(join(abandoned, 'owner.json'), JSON.stringify({ pid: process.pid, identity: 'started at another time' }));
    const next = newDirectory(directory);
    expect(existsSync(abandoned)).toBe(false);
    expect(readdirSync(directory).length).toBe(3);
    for (const kept of [own, detached, next]) expect(existsSync(kept)).toBe(true);
  });
});
