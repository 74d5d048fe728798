/** SIGTERM in mid-stream: the records in hand are finished and committed, before anything that handlers use is destroyed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { int64, string, topic } from '@tally/streams';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { Outside } from './nest-support.js';

const keysPerPartition = 5;
const records = 6_000;

let outside: Outside;
const stateDirectory = mkdtempSync(join(tmpdir(), 'tally-nest-'));
const children = new Set<ChildProcess>();

beforeAll(async () => {
  outside = await Outside.connect('shutdown');
});

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await outside.close();
  rmSync(stateDirectory, { recursive: true, force: true });
});

interface Service {
  readonly lines: string[];
  /** Resolves when the service prints the word. */
  printed(word: string): Promise<void>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  terminate(): void;
}

function startService(environment: Readonly<Record<string, string>>): Service {
  const runner = fileURLToPath(new URL('run-typescript.mjs', import.meta.url));
  const service = fileURLToPath(new URL('nest-service.fixture.ts', import.meta.url));
  const child = spawn(process.execPath, [runner, service], {
    env: { ...process.env, NODE_OPTIONS: '', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const lines: string[] = [];
  const waiting = new Map<string, () => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    waiting.get(line)?.();
  });
  return {
    lines,
    printed: (word) =>
      new Promise((resolve, reject) => {
        if (lines.includes(word)) resolve();
        waiting.set(word, resolve);
        child.once('exit', () => reject(new Error(`The service ended without printing '${word}': ${lines.join(', ')}`)));
      }),
    exited: once(child, 'exit').then(([code, signal]) => {
      children.delete(child);
      return { code: code as number | null, signal: signal as string | null };
    }),
    terminate: () => void child.kill('SIGTERM'),
  };
}

it('commits what is in hand, then closes; the next start goes on where it ended', async () => {
  const input = topic(`${outside.prefix}-in`, { key: string(), value: string() });
  const output = topic(`${outside.prefix}-out`, { key: string(), value: int64() });
  await outside.createTopics(input, output);
  await outside.write(
    input,
    Array.from(
      { length: records },
      (_each, index) => [`${index % 2}-${Math.floor(index / 2) % keysPerPartition}`, 'x', index % 2] as const,
    ),
  );
  const applicationId = `${outside.prefix}-app`;
  const environment = {
    APPLICATION_ID: applicationId,
    INPUT: input.name,
    OUTPUT: output.name,
    KAFKA_BROKERS: kafkaAddresses(),
    STATE_DIRECTORY: stateDirectory,
    UV_THREADPOOL_SIZE: '16',
  };

  const first = startService(environment);
  await first.printed('counting');
  first.terminate();
  expect(await first.exited).toEqual({ code: null, signal: 'SIGTERM' });
  expect(first.lines.slice(first.lines.indexOf('stopping'))).toEqual(['stopping', 'stopped', 'destroyed']);
  expect(await outside.members(applicationId)).toBe(0);

  // The signal came in mid-stream, and what is committed is exactly what was answered.
  const committed = (await outside.committed(applicationId, input)).reduce((sum: number, offset) => sum + (offset ?? 0), 0);
  expect(committed).toBeGreaterThan(0);
  expect(committed).toBeLessThan(records);
  expect(await outside.read(output, committed)).toHaveLength(committed);

  const second = startService(environment);
  await outside.read(output, records);
  second.terminate();
  await second.exited;
  const expected = Array.from({ length: records }, (_each, index) => {
    const occurrence = Math.floor(index / (2 * keysPerPartition)) + 1;
    return `${index % 2}-${Math.floor(index / 2) % keysPerPartition}=${occurrence}`;
  });
  expect([...(await outside.read(output, records))].sort()).toEqual(expected.sort());
});
