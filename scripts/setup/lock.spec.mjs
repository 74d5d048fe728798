// @ts-check
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from './lock.mjs';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-lock-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the lock of the set-up', () => {
  it('lets one in at a time', async () => {
    const file = join(directory, 'lock');
    let inside = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++inside);
      await Promise.resolve();
      inside--;
    };
    await Promise.all([withLock(file, work), withLock(file, work), withLock(file, work)]);
    expect(most).toBe(1);
    expect(existsSync(file)).toBe(false);
  });

  it('is taken over from a process that was killed, also when its number was given away again', async () => {
    const file = join(directory, 'lock');
    writeFileSync(file, JSON.stringify({ pid: process.pid, identity: 'started at another time' }));
    expect(await withLock(file, async () => 'done')).toBe('done');
  });

  it('is given back when the work fails', async () => {
    const file = join(directory, 'lock');
    await expect(withLock(file, () => Promise.reject(new Error('no network')))).rejects.toThrow('no network');
    expect(existsSync(file)).toBe(false);
  });
});
