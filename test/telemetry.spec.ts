/** Traces, metrics and logs as real receivers get them: an endpoint that decodes OTLP, and a real Prometheus where there is one. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { allMetrics } from '@tally/telemetry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCollector, withoutCollector } from '../scripts/collector.mjs';
import { findPrometheus, withoutPrometheus } from '../scripts/prometheus.mjs';
import { string, topic } from '@tally/streams';
import { Outside, partitions } from './nest-support.js';
import { CollectorProcess } from './support/collector-process.js';
import { freePort } from './support/free-port.js';
import { type Ledger, ObservedProcesses, committedRecords, toReceiver, until } from './support/observed.js';
import { OtlpReceiver, type ReceivedSpan } from './support/otlp/receiver.js';
import { PrometheusProcess } from './support/prometheus-process.js';
import type { Ending } from './support/service.js';

const prometheus = findPrometheus();
const collector = findCollector();

let outside: Outside;
let processes: ObservedProcesses;

const inputOf = (name: string) => topic(`${outside.prefix}-${name}`, { key: string(), value: string() });

beforeAll(async () => {
  outside = await Outside.connect('telemetry');
  processes = new ObservedProcesses(outside.prefix);
  const ledgerTopics = ['payments', 'postings', 'balances', 'payments-rejected', 'payments-malformed'].map(inputOf);
  await outside.createTopics(...ledgerTopics, ...['counted', 'hanging', 'down', 'leaving'].map(inputOf));
});

afterAll(async () => {
  await processes.close();
  await outside.close();
});

function committed(group: string, input: string): Promise<number> {
  return committedRecords(outside, group, input);
}

function listed(spans: readonly ReceivedSpan[]): string {
  return spans
    .map(({ service, name, traceId, spanId, parentSpanId }) => `${service}: ${name} ${traceId} ${spanId} < ${parentSpanId}`)
    .join('\n');
}

/** A service raises the signal again when it has stopped, and may have nothing left to do before it gets it. */
function howItEnded({ code, signal, errors }: Ending): string {
  return signal === 'SIGTERM' || code === 0 ? 'well' : `${signal ?? code}: ${errors.join('; ')}`;
}

describe(`a payment (${collector === undefined ? `without a Collector: ${withoutCollector}` : 'through a real Collector'})`, () => {
  let receiver: OtlpReceiver;
  let between: CollectorProcess | undefined;
  let endpoint: string;

  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
    if (collector !== undefined) between = await CollectorProcess.start(collector, receiver.endpoint);
    endpoint = between?.endpoint ?? receiver.endpoint;
  });

  afterAll(async () => {
    await between?.stop();
    await receiver.close();
  });

  const ended = (name: string): readonly ReceivedSpan[] => receiver.spans.filter((span) => span.name === name);

  /**
   * Sends payments until one was processed and waits for its commit. The commit interval may have passed already, and then a payment is committed at
   * once: the next one is not.
   */
  async function processUncommitted(ledger: Ledger): Promise<ReceivedSpan> {
    const { prefix } = outside;
    const offsetOf = ({ attributes }: ReceivedSpan): string =>
      `${String(attributes['messaging.destination.partition.id'])}/${String(attributes['messaging.kafka.offset']).padStart(9, '0')}`;
    // Deposits, so that each of them is posted.
    for (const seed of ['1', '2', '4']) {
      const known = new Set(ended(`process ${prefix}-payments`));
      await processes.load(['--payments', '1', '--seed', seed, '--topic', `${prefix}-payments`], toReceiver(endpoint, 'generator'));
      // The payment and its copy, which the ledger knows by its event id and passes over.
      const attempt = await until(
        'the payment and its copy were processed',
        () => {
          const fresh = ended(`process ${prefix}-payments`).filter((span) => !known.has(span));
          const [original, copy] = fresh.toSorted((one, other) => offsetOf(one).localeCompare(offsetOf(other)));
          return copy === undefined ? undefined : original;
        },
        () => ledger.process.describe(),
      );
      await sleep(400);
      const commits = ended(`commit ${prefix}-ledger`);
      if (!commits.some(({ links }) => links.some(({ spanId }) => spanId === attempt.spanId))) return attempt;
    }
    throw new Error('Each payment was committed before the ledger could be killed.');
  }

  it('is one trace from its generator to a second service, also when the ledger was killed; one of the attempts is committed', async () => {
    const { prefix } = outside;
    // It commits late, so that it can be killed when the payment has been processed and not committed.
    const late = { COMMIT_INTERVAL_MS: '5000' };
    const first = await processes.ledger('ledger', toReceiver(endpoint, 'ledger'), late);
    processes.reader('books', `${prefix}-postings`, toReceiver(endpoint, 'books'));
    await until('the ledger has its tasks', async () => {
      const answer = await fetch(`${first.url}/stats`).catch(() => undefined);
      const stats = answer?.ok === true ? ((await answer.json()) as { partitions: readonly number[] }) : undefined;
      return stats?.partitions.length === partitions ? true : undefined;
    });
    const attempt = await processUncommitted(first);
    first.process.signal('SIGKILL');
    await first.process.ended;
    const { traceId } = attempt;
    expect(receiver.trace(traceId).filter(({ name }) => name.startsWith('commit'))).toEqual([]);

    await processes.ledger('ledger', toReceiver(endpoint, 'ledger'));
    await until(
      'the second service has processed both postings',
      () => {
        const spans = receiver.trace(traceId);
        const isDone = spans.filter(({ name }) => name === `process ${prefix}-postings`).length === 2;
        const attempts = new Set(spans.filter(({ name }) => name === `process ${prefix}-payments`).map(({ spanId }) => spanId));
        const isCommitted = ended(`commit ${prefix}-ledger`).some(({ links }) => links.some(({ spanId }) => attempts.has(spanId)));
        return isDone && isCommitted ? true : undefined;
      },
      () => listed(receiver.spans),
    );

    const trace = receiver.trace(traceId);
    const named = (name: string): readonly ReceivedSpan[] => trace.filter((span) => span.name === name);
    const [sent] = named(`send ${prefix}-payments`);
    expect(sent).toMatchObject({ service: 'generator', kind: 'PRODUCER', parentSpanId: '' });
    const attempts = named(`process ${prefix}-payments`);
    expect(attempts.map(({ service, kind, parentSpanId }) => [service, kind, parentSpanId])).toEqual([
      ['ledger', 'CONSUMER', sent?.spanId],
      ['ledger', 'CONSUMER', sent?.spanId],
    ]);
    expect(new Set(attempts.map(({ instance }) => instance)).size).toBe(2);
    expect(attempts.map(({ attributes }) => attributes['messaging.kafka.offset'])).toEqual([
      attempts[0]?.attributes['messaging.kafka.offset'],
      attempts[0]?.attributes['messaging.kafka.offset'],
    ]);

    // What the killed process had sent was never committed, so nothing of it is shown as sent.
    const committedAttempt = attempts.find(({ spanId }) => spanId !== attempt.spanId);
    const posted = named(`send ${prefix}-postings`);
    expect(posted.map(({ parentSpanId }) => parentSpanId)).toEqual([committedAttempt?.spanId, committedAttempt?.spanId]);
    const read = named(`process ${prefix}-postings`);
    expect(read.map(({ service }) => service)).toEqual(['books', 'books']);
    expect(read.map(({ parentSpanId }) => parentSpanId).toSorted()).toEqual(posted.map(({ spanId }) => spanId).toSorted());

    const commits = receiver.spans.filter(({ name, isError }) => name === `commit ${prefix}-ledger` && !isError);
    const linked = commits.flatMap(({ links }) => links.map(({ spanId }) => spanId));
    expect(linked).toContain(committedAttempt?.spanId);
    expect(linked).not.toContain(attempt.spanId);
    const polls = receiver.spans.filter(({ name }) => name === `poll ${prefix}-payments`);
    expect(polls.flatMap(({ links }) => links.map(({ spanId }) => spanId))).toContain(sent?.spanId);
    expect(receiver.refused).toEqual([]);
  });

  it('is asked for over HTTP within the trace of who asks', async () => {
    const { prefix } = outside;
    const { url } = await processes.ledger('asked', toReceiver(endpoint, 'asked'), { APPLICATION_ID: `${prefix}-asked` });
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const headers = { traceparent: `00-${traceId}-${spanId}-01` };
    await until('it answers', () => fetch(`${url}/balances/nobody`, { headers }).catch(() => undefined));
    const server = await until('the request was exported', () => receiver.trace(traceId).find(({ kind }) => kind === 'SERVER'));
    expect(server).toMatchObject({ service: 'asked', parentSpanId: spanId });
  });

  it('leaves metrics and logs with the receiver, under the names of the table', async () => {
    const names = new Set(allMetrics.map(({ name }) => name));
    await until('metrics were exported', () => (receiver.metricNames.has('tally.records.processed') ? true : undefined));
    const own = [...receiver.metricNames].filter((name) => /^(tally|messaging|nodejs)\./.test(name));
    expect(own.filter((name) => !names.has(name))).toEqual([]);
    expect(own.length).toBeGreaterThan(20);
    expect(receiver.logs).toContainEqual(expect.objectContaining({ service: 'ledger', severity: 'INFO', body: 'The worker is running.' }));
  });
});

describe.skipIf(prometheus === undefined)(`a real Prometheus${prometheus === undefined ? ` (${withoutPrometheus})` : ''}`, () => {
  it('sees counters that equal the records, and an alert for a partition that is stuck', async () => {
    const input = inputOf('counted');
    const ports = [await freePort(), await freePort()];
    const rules = readFileSync(fileURLToPath(new URL('../deploy/prometheus/alerts.yml', import.meta.url)), 'utf8');
    // The rules themselves, with shorter times.
    const hasty = rules.replaceAll(/\[2m\]/g, '[3s]').replaceAll(/for: \w+/g, 'for: 1s');
    const server = await PrometheusProcess.start(
      prometheus?.prometheus ?? '',
      ports.map((port) => `127.0.0.1:${port}`),
      hasty,
    );
    try {
      for (const [index, port] of ports.entries()) {
        const telemetry = {
          OTEL_SERVICE_NAME: 'counters',
          OTEL_METRICS_EXPORTER: 'prometheus',
          OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
          OTEL_EXPORTER_PROMETHEUS_PORT: String(port),
          OTEL_METRIC_EXPORT_INTERVAL: '500',
        };
        processes.reader(`counters-${index}`, input.name, telemetry);
      }
      await server.until(
        'sum by (instance) (tally_tasks{tally_state="running"})',
        (samples) => samples.length === 2 && samples.every(({ value }) => value === 1),
      );
      const records = Array.from({ length: 3_000 }, (_each, index) => [`key-${index % 50}`, 'x', index % partitions] as const);
      await outside.write(input, records);
      await server.until('sum(tally_records_processed_total)', ([sum]) => sum?.value === records.length);
      const byTask = await server.query('sum by (tally_task) (tally_records_processed_total)');
      expect(byTask.map(({ value }) => value)).toEqual([1_500, 1_500]);
      expect(await server.query('sum(messaging_client_consumed_messages_total)')).toMatchObject([{ value: records.length }]);
      await server.until('max(tally_partition_lag)', ([most]) => most?.value === 0);
      expect((await server.query('sum(tally_transactions_total{tally_outcome!="committed"})'))[0]?.value).toBe(0);
      // By the shorter times a partition was stuck if its records waited for a moment; since they have been committed it is not.
      await until('no partition counts as stuck', async () => {
        const isStuck = (await server.alerts()).some(({ labels }) => labels['alertname'] === 'TallyPartitionStuck');
        return isStuck ? undefined : true;
      });

      await outside.write(input, [
        ['key-0', 'stuck', 0],
        ['key-1', 'x', 0],
        ['key-1', 'x', 1],
      ]);
      await server.until('tally_partition_lag{messaging_destination_partition_id="0"}', ([lag]) => (lag?.value ?? 0) >= 2);
      expect((await server.query('tally_partition_lag{messaging_destination_partition_id="1"}'))[0]?.value).toBe(0);
      const alert = await until('the alert fires', async () =>
        (await server.alerts()).find(({ state, labels }) => state === 'firing' && labels['alertname'] === 'TallyPartitionStuck'),
      );
      expect(alert.labels).toMatchObject({
        messaging_destination_name: input.name,
        messaging_destination_partition_id: '0',
        severity: 'critical',
      });
    } finally {
      await server.stop();
    }
  });
});

describe('a receiver', () => {
  const send = (name: string, count: number): Promise<void> =>
    outside.write(
      inputOf(name),
      Array.from({ length: count }, (_each, index) => [`key-${index % 50}`, 'x', index % partitions] as const),
    );

  it('that hangs neither slows a service nor keeps it from ending', async () => {
    const sockets: Socket[] = [];
    let connections = 0;
    const hanging = createServer((socket) => {
      connections++;
      sockets.push(socket.on('error', () => undefined));
    });
    hanging.listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    const telemetry = {
      ...toReceiver(`http://127.0.0.1:${(hanging.address() as AddressInfo).port}`, 'hanging'),
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    };
    const service = processes.reader('hanging', inputOf('hanging').name, telemetry);
    await send('hanging', 20_000);
    await until(
      'all of it is committed',
      async () => ((await committed(`${outside.prefix}-hanging`, inputOf('hanging').name)) >= 20_000 ? true : undefined),
      () => service.describe(),
    );
    expect(connections).toBeGreaterThan(0);
    const beganMs = Date.now();
    service.signal('SIGTERM');
    expect(howItEnded(await service.ended)).toBe('well');
    // The worker's own stop, and three seconds at most for the last export.
    expect(Date.now() - beganMs).toBeLessThan(8_000);
    for (const socket of sockets) socket.destroy();
    hanging.close();
  });

  it('that is down, or headers that are wrong, stop nothing', async () => {
    const wrong = {
      OTEL_EXPORTER_OTLP_HEADERS: 'no equals sign,=,a b=c',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'pigeon',
      OTEL_TRACES_SAMPLER_ARG: 'many',
    };
    const service = processes.reader('down', inputOf('down').name, {
      ...toReceiver(`http://127.0.0.1:${await freePort()}`, 'down'),
      ...wrong,
    });
    await send('down', 2_000);
    await until(
      'all of it is committed',
      async () => ((await committed(`${outside.prefix}-down`, inputOf('down').name)) >= 2_000 ? true : undefined),
      () => service.describe(),
    );
    service.signal('SIGTERM');
    expect(howItEnded(await service.ended)).toBe('well');
  });

  it('gets what is left when a service ends', async () => {
    const receiver = await OtlpReceiver.start();
    // Nothing is exported by time.
    const rare = {
      OTEL_BSP_SCHEDULE_DELAY: '600000',
      OTEL_METRIC_EXPORT_INTERVAL: '600000',
      OTEL_METRIC_EXPORT_TIMEOUT: '5000',
      OTEL_BLRP_SCHEDULE_DELAY: '600000',
    };
    const service = processes.reader('leaving', inputOf('leaving').name, { ...toReceiver(receiver.endpoint, 'leaving'), ...rare });
    await send('leaving', 10);
    await until(
      'all of it is committed',
      async () => ((await committed(`${outside.prefix}-leaving`, inputOf('leaving').name)) >= 10 ? true : undefined),
      () => service.describe(),
    );
    await sleep(200);
    expect(receiver.spans).toEqual([]);
    service.signal('SIGTERM');
    await service.ended;
    expect(receiver.spans.filter(({ name }) => name.startsWith('process'))).toHaveLength(10);
    expect(receiver.metricNames).toContain('tally.records.processed');
    expect(receiver.logs.map(({ body }) => body)).toContain('The worker is stopped.');
    await receiver.close();
  });
});
