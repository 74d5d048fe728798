/** The demonstration itself, short: one kill, and the proof. Runs what `npm run build` built. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const entry = fileURLToPath(new URL('../dist/apps/ledger-tools/demo/demo.js', import.meta.url));

interface DemoJson {
  readonly records: number;
  readonly recordsPerSecond: number;
  readonly transactions: number;
  readonly duplicatesDropped: number;
  readonly kills: readonly { readonly atRecord: number; readonly openRecords: number }[];
  readonly recoveryMs: readonly number[];
  readonly replayedRecords: readonly number[];
  readonly proof: { readonly expectedTotal: number; readonly actualTotal: number; readonly accounts: number; readonly mismatches: number };
}

let directory = '';
const started: ChildProcess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-demo-test-'));
});
afterEach(() => {
  for (const child of started.splice(0)) endGroup(child);
  rmSync(directory, { recursive: true, force: true });
});

/** In a process group of its own, so that it can be seen whether anything of it is left. */
function startDemo(args: readonly string[]): { child: ChildProcess; output: () => string; ended: Promise<number | null> } {
  const child = spawn(process.execPath, [entry, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: directory },
  });
  started.push(child);
  let output = '';
  const collect = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  return { child, output: () => output, ended: new Promise((resolve) => child.once('close', (code) => resolve(code))) };
}

function groupLives(child: ChildProcess): boolean {
  try {
    return child.pid !== undefined && process.kill(-child.pid, 0);
  } catch {
    return false;
  }
}

function endGroup(child: ChildProcess): void {
  if (child.pid !== undefined && groupLives(child)) process.kill(-child.pid, 'SIGKILL');
}

describe('the demo', () => {
  it('proves that every payment was counted once, through a kill', async () => {
    const file = join(directory, 'results.json');
    const demo = startDemo(['--payments', '20000', '--kills', '1', '--rate', '2000', '--seed', '7', '--json', file]);
    const code = await demo.ended;
    expect(demo.output()).toContain('Proved: each of 20000 payments was counted exactly once.');
    expect(code).toBe(0);
    const results = JSON.parse(readFileSync(file, 'utf8')) as DemoJson;
    expect(Object.keys(results)).toEqual([
      'records',
      'recordsPerSecond',
      'transactions',
      'duplicatesDropped',
      'kills',
      'recoveryMs',
      'replayedRecords',
      'proof',
    ]);
    expect(results.records).toBe(21_270);
    expect(results.duplicatesDropped).toBe(1_250);
    expect(results.kills).toHaveLength(1);
    expect(results.kills[0]?.openRecords).toBeGreaterThan(0);
    expect(results.kills[0]?.atRecord).toBeGreaterThanOrEqual(2_127);
    expect(results.recoveryMs).toHaveLength(1);
    // The tail of the changelogs alone (test/crash.spec.ts), but all of those whose partitions the group has given to the other instance.
    expect(results.replayedRecords).toHaveLength(1);
    expect(results.replayedRecords[0]).toBeLessThanOrEqual(2 * results.records);
    expect(results.transactions).toBeGreaterThan(1);
    expect(results.proof.mismatches).toBe(0);
    expect(results.proof.actualTotal).toBe(results.proof.expectedTotal);
    expect(results.proof.accounts).toBeGreaterThan(1_000);
    expect(groupLives(demo.child)).toBe(false);
  }, 240_000);

  it('stops everything that it started on Ctrl-C', async () => {
    const demo = startDemo(['--payments', '10000', '--kills', '0', '--rate', '500']);
    while (!demo.output().includes('payments processed')) {
      expect(groupLives(demo.child), demo.output()).toBe(true);
      await sleep(50);
    }
    // As a terminal does: the whole group gets it, the instances too.
    if (demo.child.pid !== undefined) process.kill(-demo.child.pid, 'SIGINT');
    expect(await demo.ended).toBe(1);
    expect(demo.output()).toContain('Stopped by SIGINT.');
    expect(groupLives(demo.child)).toBe(false);
  }, 120_000);

  it('says what is wrong with its arguments', async () => {
    const demo = startDemo(['--payments', 'lots']);
    expect(await demo.ended).toBe(1);
    expect(demo.output()).toContain("--payments must be a whole number from 10000 to 20000000; it is 'lots'.");
    expect(demo.output()).not.toContain('    at ');
  });
});
