import { Controller, Get, Inject } from '@nestjs/common';
import { type QueryableStore, int64, keyValueStore, silentLogger, string } from '@tally/streams';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { InjectStore, InjectStreamsHealth, InjectStreamsQuery, InjectWorker, StreamHandler } from './decorators/index.js';
import { events, type FakeSetup, FakeWorker } from './fake-worker.suite.js';
import { StreamsHealthIndicator, StreamsModule, StreamsQueryService, streamsTransport, StreamsWorkerRef } from './index.js';
import { balances, closeStarted, Ledger, Limits, options, payments, start, Totals } from './application-fixtures.suite.js';

afterEach(closeStarted);

describe('the worker', () => {
  it('runs one topology of all handlers and topologies', async () => {
    const { app, workers } = await start([StreamsModule.forRoot(options)], { controllers: [Ledger], providers: [Totals, Limits] });
    app.connectMicroservice({ strategy: streamsTransport(app) });
    await app.init();
    await app.startAllMicroservices();
    const topology = workers.get('ledger')?.parts.topology;
    expect(topology?.nodes.get('Ledger.apply')).toMatchObject({
      kind: 'processor',
      stores: ['balances'],
      concurrency: 4,
      deadlineMs: 500,
      errors: { processing: { action: 'skip' } },
    });
    expect(topology?.subTopologies.flatMap(({ sourceTopics }) => sourceTopics).sort()).toEqual(['payments', 'refunds']);
    expect(events).toContain('build with minimum 0');
    expect(workers.get('ledger')?.options.applicationId).toBe('ledger');
  });

  const orders = {
    'listen first, as in a service with probes': async ({ app }: FakeSetup) => {
      await app.init();
      await app.startAllMicroservices();
    },
    "startAllMicroservices first, as in Nest's documentation": async ({ app }: FakeSetup) => {
      await app.startAllMicroservices();
      await app.init();
    },
  };

  it.each(Object.keys(orders) as (keyof typeof orders)[])('starts after every init hook: %s', async (order) => {
    const made = await start([StreamsModule.forRoot(options)], { controllers: [Ledger], providers: [Limits] });
    made.app.connectMicroservice({ strategy: streamsTransport(made.app) });
    await orders[order](made);
    expect(events).toEqual(['init', 'bootstrap', 'start ledger']);
  });

  it('has stopped before any provider is destroyed', async () => {
    const { app } = await start([StreamsModule.forRoot(options)], { controllers: [Ledger], providers: [Limits] });
    app.connectMicroservice({ strategy: streamsTransport(app) });
    await app.init();
    await app.startAllMicroservices();
    events.length = 0;
    await app.close();
    expect(events).toEqual(['stop ledger', 'stopped ledger', 'destroy', 'shutdown']);
  });

  it('that cannot start makes the start of the application reject with its error', async () => {
    const failure = new Error('no broker');
    for (const order of Object.values(orders)) {
      FakeWorker.startFailure = failure;
      const made = await start([StreamsModule.forRoot(options)], { controllers: [Ledger] });
      made.app.connectMicroservice({ strategy: streamsTransport(made.app) });
      await expect(order(made)).rejects.toBe(failure);
      await made.app.close();
    }
  });

  it('that fails by itself closes the application; the worker has said why', async () => {
    const lines: string[] = [];
    const logger = { ...silentLogger, error: (line: string) => void lines.push(line) };
    const { app, workers } = await start([StreamsModule.forRoot({ ...options, logger })], { controllers: [Ledger], providers: [Limits] });
    app.connectMicroservice({ strategy: streamsTransport(app) });
    await app.init();
    await app.startAllMicroservices();
    workers.get('ledger')?.fail(new Error('fenced for good'));
    await vi.waitFor(() => expect(events).toContain('shutdown'));
    expect(lines).toEqual([]);
  });

  it('that fails by itself is left to a callback', async () => {
    const seen: Error[] = [];
    const failure = new Error('fenced for good');
    const { app, workers } = await start([StreamsModule.forRoot({ ...options, onFailure: (error) => void seen.push(error) })], {
      controllers: [Ledger],
    });
    app.connectMicroservice({ strategy: streamsTransport(app) });
    await app.init();
    await app.startAllMicroservices();
    workers.get('ledger')?.fail(failure);
    await vi.waitFor(() => expect(seen).toEqual([failure]));
    expect(events).not.toContain('stop ledger');
  });
});

describe('two applications in one process', () => {
  const auditBalances = keyValueStore('audited', { key: string(), value: int64() });

  @Controller()
  class Audit {
    @StreamHandler(payments, { application: 'audit', stores: [auditBalances] }) note(): void {}
  }

  @Controller('queries')
  class Queries {
    constructor(
      @InjectStore(balances) readonly store: QueryableStore<string, bigint>,
      @InjectStore(auditBalances, 'audit') readonly audited: QueryableStore<string, bigint>,
      readonly queries: StreamsQueryService,
      @InjectStreamsQuery('audit') readonly auditQueries: StreamsQueryService,
      readonly health: StreamsHealthIndicator,
      @InjectStreamsHealth('audit') readonly auditHealth: StreamsHealthIndicator,
      readonly worker: StreamsWorkerRef,
      @InjectWorker('audit') readonly auditWorker: StreamsWorkerRef,
      @Inject(Limits) readonly limits: Limits,
    ) {}
    @Get() ping(): string {
      return 'pong';
    }
  }

  async function both(): Promise<FakeSetup> {
    const made = await start(
      [
        StreamsModule.forRoot(options),
        StreamsModule.forRoot({ ...options, name: 'audit', applicationId: 'audit-app' }),
        StreamsModule.forFeature([balances]),
        StreamsModule.forFeature([auditBalances], 'audit'),
      ],
      { controllers: [Ledger, Audit, Queries], providers: [Limits] },
    );
    const { app } = made;
    app.connectMicroservice({ strategy: streamsTransport(app) });
    app.connectMicroservice({ strategy: streamsTransport(app, 'audit') });
    return made;
  }

  it('have topologies, stores, health and workers of their own', async () => {
    const { app, workers } = await both();
    const queries = app.get(Queries);
    await expect(queries.store.get('alice')).rejects.toMatchObject({ code: 'WORKER_NOT_RUNNING', kind: 'retriable' });
    await app.init();
    await app.startAllMicroservices();
    expect([...(workers.get('ledger')?.parts.topology.stores.keys() ?? [])]).toEqual(['balances']);
    expect([...(workers.get('audit-app')?.parts.topology.stores.keys() ?? [])]).toEqual(['audited']);
    expect(await queries.store.get('alice')).toBe('balances/alice');
    expect(await queries.audited.get('bob')).toBe('audited/bob');
    expect(await queries.auditQueries.store(auditBalances).get('eve')).toBe('audited/eve');
    expect(queries.queries.store(balances).partitions()).toEqual([0, 2]);
    expect([queries.worker.name, queries.auditWorker.name]).toEqual(['default', 'audit']);
    workers.get('audit-app')?.fail(new Error('gone'));
    expect(queries.health.isReady('streams').streams.status).toBe('up');
    expect(queries.auditHealth.isReady('streams').streams).toMatchObject({ status: 'down', phase: 'failed', message: 'gone' });
  });

  it('stop together', async () => {
    const { app } = await both();
    await app.init();
    await app.startAllMicroservices();
    events.length = 0;
    await app.close();
    expect(events).toEqual(['stop ledger', 'stop audit-app', 'stopped ledger', 'stopped audit-app', 'destroy', 'shutdown']);
  });
});

describe('health', () => {
  it('tells alive, ready and restoring apart', async () => {
    const { app, workers } = await start([StreamsModule.forRoot(options)], { controllers: [Ledger] });
    const health = app.get(StreamsHealthIndicator);
    expect(health.isLive('streams')).toEqual({ streams: { status: 'up', phase: 'created', tasks: 0, restoring: [] } });
    expect(health.isReady('streams').streams.status).toBe('down');
    app.connectMicroservice({ strategy: streamsTransport(app) });
    await app.init();
    await app.startAllMicroservices();
    expect(health.isReady('streams')).toEqual({ streams: { status: 'up', phase: 'running', tasks: 0, restoring: [] } });
    const worker = workers.get('ledger') as FakeWorker;
    worker.ready = false;
    worker.tasks = [
      { id: 'payments/0', phase: 'restoring', restoredOffsets: 25, restoreOffsetsTotal: 100 },
      { id: 'payments/1', phase: 'running', restoredOffsets: 0, restoreOffsetsTotal: 0 },
    ];
    expect(health.isReady('streams').streams).toEqual({
      status: 'down',
      phase: 'running',
      tasks: 2,
      restoring: [{ task: 'payments/0', progress: 0.25, restoredOffsets: 25, restoreOffsetsTotal: 100 }],
    });
    expect(health.isLive('streams').streams.status).toBe('up');
  });
});
