import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startBroker } from '../scripts/broker.mjs';
import { answers } from '../scripts/broker/readiness.mjs';

const script = new URL('../scripts/broker.mjs', import.meta.url);

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-broker-control-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Waits for something that the fault under test brings about; the test's own time-out is the bound. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(50);
}

describe('a broker of its own', () => {
  it('comes back on the same address after a stop and after a crash', async () => {
    const broker = await startBroker();
    const address = broker.brokers;
    await broker.halt();
    expect(await answers(address)).toBe(false);
    await broker.restart();
    expect(await answers(address)).toBe(true);
    await broker.kill();
    expect(await answers(address)).toBe(false);
    await broker.restart();
    expect(broker.brokers).toBe(address);
    expect(await answers(address)).toBe(true);
    await broker.stop();
    expect(await answers(address)).toBe(false);
    expect(existsSync(broker.directory)).toBe(false);
  });

  it.each(['SIGKILL', 'SIGINT'] as const)('ends with the process that started it, when that gets %s', async (signal) => {
    const parent = join(directory, 'parent.mjs');
    writeFileSync(
      parent,
      `import { startBroker } from ${JSON.stringify(script.href)};\nconsole.log((await startBroker()).brokers);\nsetInterval(() => {}, 1000);\n`,
    );
    const child = spawn(process.execPath, [parent], { stdio: ['ignore', 'pipe', 'inherit'] });
    const address = String(await new Promise((resolve) => child.stdout.once('data', resolve))).trim();
    expect(await answers(address)).toBe(true);
    child.kill(signal);
    await until(async () => !(await answers(address)));
  });

  it('is not taken for another one on the same ports', async () => {
    const broker = await startBroker();
    await expect(startBroker({ directory: join(directory, 'second'), ports: broker.ports })).rejects.toThrow(/is taken|docker run failed/);
    await broker.stop();
  });
});
