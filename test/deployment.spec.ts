/** What a container runs, and how an orchestrator stops it. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { string, topic } from '@tally/streams';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Outside, partitions } from './nest-support.js';
import { type Ledger, ObservedProcesses, committedRecords, toReceiver, until } from './support/observed.js';
import { OtlpReceiver } from './support/otlp/receiver.js';

const buildScript = fileURLToPath(new URL('../deploy/build.sh', import.meta.url));
const prefix = mkdtempSync(join(tmpdir(), 'tally-prefix-'));
const noTelemetry = { OTEL_SDK_DISABLED: 'true' };

let outside: Outside;
let processes: ObservedProcesses;

beforeAll(async () => {
  outside = await Outside.connect('deployed');
  processes = new ObservedProcesses(outside.prefix);
  const topics = ['payments', 'postings', 'balances', 'payments-rejected', 'payments-malformed'];
  await outside.createTopics(...topics.map((name) => topic(`${outside.prefix}-${name}`, { key: string(), value: string() })));
});

afterAll(async () => {
  await processes.close();
  await outside.close();
  rmSync(prefix, { recursive: true, force: true });
});

async function status(url: string): Promise<number | undefined> {
  const answer = await fetch(url).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.status;
}

function committedPayments(): Promise<number> {
  return committedRecords(outside, `${outside.prefix}-ledger`, `${outside.prefix}-payments`);
}

/** Ready, with partitions of its own. */
async function owns({ url }: Ledger): Promise<number> {
  const answer = await fetch(`${url}/stats`).catch(() => undefined);
  return answer?.ok === true ? ((await answer.json()) as { partitions: readonly number[] }).partitions.length : 0;
}

describe('deploy/build.sh', () => {
  it('fills an empty directory from which alone the ledger runs, and no other', async () => {
    await promisify(execFile)(buildScript, [prefix], { maxBuffer: 2 ** 24 });
    await expect(promisify(execFile)(buildScript, [prefix])).rejects.toThrow(/is not empty/);
    for (const tool of ['typescript', 'vitest', 'oxlint', '@nestjs/testing', 'fast-check'])
      expect(existsSync(join(prefix, 'node_modules', tool)), tool).toBe(false);
    expect(readdirSync(prefix, { recursive: true, encoding: 'utf8' }).filter((file) => /^(libs|dist).*\.(ts|map)$/.test(file))).toEqual([]);

    const ledger = await processes.ledger('deployed', noTelemetry, {}, join(prefix, 'dist/apps/ledger/main.js'));
    await until(
      'it is ready',
      async () => ((await owns(ledger)) === partitions ? true : undefined),
      () => ledger.process.describe(),
    );
    expect([
      await status(`${ledger.url}/health/startup`),
      await status(`${ledger.url}/health/live`),
      await status(`${ledger.url}/health/ready`),
    ]).toEqual([200, 200, 200]);
    await processes.load(['--payments', '100', '--topic', `${outside.prefix}-payments`], noTelemetry);
    await until(
      'the payments are committed',
      async () => ((await committedPayments()) >= 100 ? true : undefined),
      () => ledger.process.describe(),
    );
    ledger.process.signal('SIGTERM');
    await ledger.process.ended;
    // The closest that there is here to what the image's own layer weighs.
    const { stdout } = await promisify(execFile)('du', ['-sm', prefix]);
    expect(Number(stdout.split('\t')[0])).toBeLessThan(200);
  });
});

describe('SIGTERM under load', () => {
  let receiver: OtlpReceiver;

  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
  });

  afterAll(() => receiver.close());

  it('leaves nothing to be processed again, and moves partitions once', async () => {
    const roomy = { OTEL_BSP_MAX_QUEUE_SIZE: '100000', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5000', OTEL_METRICS_EXPORTER: 'none' };
    const observed = (name: string) => ({ ...toReceiver(receiver.endpoint, name), ...roomy });
    const [leaving, staying] = [await processes.ledger('one', observed('leaving')), await processes.ledger('two', observed('staying'))];
    await until(
      'both have a partition',
      async () => ((await owns(leaving)) === 1 && (await owns(staying)) === 1 ? true : undefined),
      () => leaving.process.describe(),
    );
    const before = await committedPayments();
    // Before, one of them may have had both partitions.
    const settledMs = Date.now();

    const payments = 3_000;
    const sending = processes.load(
      ['--payments', String(payments), '--rate', '1000', '--seed', '9', '--topic', `${outside.prefix}-payments`],
      observed('load'),
    );
    await until(
      'payments are being processed',
      async () => ((await committedPayments()) > before + 300 ? true : undefined),
      () => staying.process.describe(),
    );
    const stoppedMs = Date.now();
    leaving.process.signal('SIGTERM');
    expect((await leaving.process.ended).signal).toBe('SIGTERM');
    // Kubernetes gives it 40 s in deploy/kubernetes.
    expect(Date.now() - stoppedMs).toBeLessThan(20_000);
    await sending;
    // A copy of one payment in sixteen, and one malformed record for each thousand, come on top.
    const sent = payments + Math.ceil(payments / 16) + payments / 1_000;
    await until(
      'all of them are committed',
      async () => ((await committedPayments()) >= before + sent ? true : undefined),
      () => staying.process.describe(),
    );
    const processed = () => receiver.spans.filter(({ name }) => name === `process ${outside.prefix}-payments`);
    await until(
      'all attempts are exported',
      () => (processed().length >= sent ? true : undefined),
      () => `${processed().length} of ${sent}`,
    );

    // Each record at one attempt, by one of them: malformed ones too, whose dead letters are committed in the same attempt.
    const places = processed().map(
      ({ attributes }) => `${attributes['messaging.destination.partition.id']}/${attributes['messaging.kafka.offset']}`,
    );
    expect(new Set(places).size).toBe(places.length);
    expect(places.length).toBe(sent);
    expect(new Set(processed().map(({ service }) => service))).toEqual(new Set(['leaving', 'staying']));
    expect(receiver.spans.filter(({ name, isError }) => name.startsWith('commit') && isError)).toEqual([]);
    const lines = receiver.logs.filter(({ service, atMs }) => service === 'staying' && atMs >= settledMs).map(({ body }) => body);
    expect(lines.filter((body) => body.startsWith('Partitions were assigned'))).toHaveLength(1);
    expect(lines.filter((body) => body.startsWith('Partitions are given back') || body.includes('lost'))).toEqual([]);
  });
});
