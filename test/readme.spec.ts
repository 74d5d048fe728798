/** Runs the README's first service, by controller and by DSL, as a process over a real broker. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { int64 } from '@tally/streams';
import { afterAll, describe, expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { Cluster } from './support/cluster.js';

const root = join(import.meta.dirname, '..');
const directory = join(root, '.tally', `readme-${process.pid}`);
const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** The TypeScript blocks of the README's chapter. */
function examples(): readonly [string, string] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const chapter = readme.slice(readme.indexOf('## A first service'), readme.indexOf('## How it works'));
  const [service, topology] = [...chapter.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
  if (service === undefined || topology === undefined) throw new Error('The README has no two examples.');
  return [service, topology];
}

function replaced(text: string, from: string, to: string): string {
  expect(text).toContain(from);
  return text.replaceAll(from, to);
}

/** The service with names of its own, so that it does not meet other tests. */
function own(code: string, name: string, port: number): string {
  let text = replaced(code, "topic('payments'", `topic('${name}-payments'`);
  text = replaced(text, "topic('totals'", `topic('${name}-totals'`);
  text = replaced(text, "applicationId: 'sums'", `applicationId: '${name}'`);
  text = replaced(text, "stateDirectory: './state'", `stateDirectory: '${directory}/${name}'`);
  return replaced(text, 'port: 3000', `port: ${port}`);
}

function byDsl(service: string, topology: string): string {
  const before = service.slice(0, service.indexOf('@Controller()'));
  const after = service.slice(service.indexOf('const brokers'));
  const code = `${before}${topology}\n${after}`;
  return `import { Topology, type StreamsTopology } from '@tally/nestjs';\nimport type { StreamsBuilder } from '@tally/streams';\n${replaced(code, 'controllers: [PaymentsController]', 'providers: [SumsTopology]')}`;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function start(name: string, code: string): ChildProcess {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${name}.ts`);
  writeFileSync(file, code);
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.base.json', include: ['*.ts'] }));
  const child = spawn(process.execPath, [join(root, 'test/run-typescript.mjs'), file], {
    cwd: root,
    env: { ...process.env, KAFKA_BROKERS: kafkaAddresses(), UV_THREADPOOL_SIZE: '16' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  children.push(child);
  return child;
}

async function pay(cluster: Cluster, name: string): Promise<void> {
  const producer = cluster.broker.createOutputProducer();
  await producer.connect();
  for (let event = 1; event <= 100; event++) {
    producer.produce(
      `${name}-payments`,
      0,
      Buffer.from('alice'),
      Buffer.from(JSON.stringify({ eventId: `e-${event}`, amount: event })),
      event,
      [],
    );
  }
  await producer.flush(10_000);
  await producer.close();
}

async function totals(cluster: Cluster, name: string, child: ChildProcess): Promise<readonly bigint[]> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The service ended with exit code ${child.exitCode}.`);
    const records = await cluster.read(`${name}-totals`);
    if (records.length >= 100) return records.map(({ value }) => int64().deserialize(value ?? new Uint8Array()));
    await sleep(100);
  }
}

const expected = Array.from({ length: 100 }, (_, index) => BigInt(((index + 1) * (index + 2)) / 2));

describe("the README's first service", () => {
  it('has under 40 lines', () => {
    expect(examples()[0].trimEnd().split('\n').length).toBeLessThan(40);
  });

  for (const [kind, code] of [
    ['controller', (): string => examples()[0]],
    ['dsl', (): string => byDsl(...examples())],
  ] as const) {
    it(`counts payments by ${kind}`, async () => {
      const name = `readme-${kind}-${process.pid}-${Date.now()}`;
      const cluster = await Cluster.connect(kafkaAddresses());
      await cluster.createTopic(`${name}-payments`, 1);
      await cluster.createTopic(`${name}-totals`, 1);
      const port = await freePort();
      const child = start(name, own(code(), name, port));
      await pay(cluster, name);
      expect(await totals(cluster, name, child)).toEqual(expected);
      if (kind === 'controller') {
        const answer = await fetch(`http://127.0.0.1:${port}/sums/alice`);
        expect([answer.status, await answer.text()]).toEqual([200, '5050']);
      }
      const exited = new Promise((resolve) => {
        child.once('exit', resolve);
      });
      child.kill('SIGTERM');
      expect(await exited).not.toBe(1);
      await cluster.broker.close();
    });
  }
});
