import { type CallHandler, Controller, type ExecutionContext, Module, type NestInterceptor, UseInterceptors } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  connectStreams,
  Ctx,
  InjectStore,
  Payload,
  Store,
  type StreamContext,
  StreamHandler,
  StreamsModule,
  workerFactoryToken,
} from '@tally/nestjs';
import {
  int64,
  type QueryableVersionedStore,
  type QueryableWindowStore,
  string,
  topic,
  type VersionedStore,
  versionedStore,
  type WindowStore,
  windowStore,
} from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';
import { fencedStore } from './handlers/fenced-store.js';

const payments = topic('payments', { key: string(), value: int64() });
const sums = topic('sums', { key: string(), value: int64() });
const perMinute = windowStore('per-minute', { key: string(), value: int64(), retentionMs: 3_600_000, windowSizeMs: 60_000 });
const prices = versionedStore('prices', { key: string(), value: int64(), historyRetentionMs: 3_600_000 });

/** Behind an interceptor a handler gets stores that are closed when it is given up. */
class PassThrough implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle();
  }
}

@Controller()
class PaymentsController {
  constructor(
    @InjectStore(perMinute) readonly minutes: QueryableWindowStore<string, bigint>,
    @InjectStore(prices) readonly versions: QueryableVersionedStore<string, bigint>,
  ) {}

  @StreamHandler(payments, { stores: [perMinute, prices] })
  @UseInterceptors(PassThrough)
  add(
    @Payload() amount: bigint,
    @Ctx() context: StreamContext<string>,
    @Store(perMinute) minutes: WindowStore<string, bigint>,
    @Store(prices) versions: VersionedStore<string, bigint>,
  ) {
    const startMs = Math.floor(context.timestampMs / 60_000) * 60_000;
    const sum = (minutes.get(context.key, startMs) ?? 0n) + amount;
    minutes.put(context.key, sum, startMs);
    versions.put(context.key, amount, context.timestampMs);
    if (minutes.observedTimeMs >= startMs) context.send(sums, context.key, sum);
  }
}

@Module({
  imports: [
    StreamsModule.forRoot({ applicationId: 'minutes', brokers: 'localhost:9092', stateDirectory: './state' }),
    StreamsModule.forFeature([perMinute, prices]),
  ],
  controllers: [PaymentsController],
})
class AppModule {}

it('handlers use stores of every kind, and queries are injected for them', async () => {
  const driver = new TopologyTestDriver();
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(workerFactoryToken)
    .useValue(driver.createWorker)
    .compile();
  const app = module.createNestApplication();
  connectStreams(app);
  await app.init();
  await app.startAllMicroservices();
  const input = driver.input(payments);
  for (const [amount, timestampMs] of [
    [1n, 1_000],
    [2n, 59_999],
    [4n, 60_000],
  ] as const) {
    await input.pipe('alice', amount, { timestampMs });
  }

  expect(driver.output(sums).readAll()).toMatchObject([{ value: 1n }, { value: 3n }, { value: 4n }]);
  const { minutes, versions } = app.get(PaymentsController);
  expect(await minutes.get('alice', 0)).toBe(3n);
  expect(await minutes.fetch('alice', 0, 60_000)).toMatchObject([{ startMs: 0 }, { startMs: 60_000, value: 4n }]);
  const keys: unknown[] = [];
  for await (const [key] of minutes.all()) keys.push(key);
  expect(keys).toEqual([
    { key: 'alice', startMs: 0, endMs: 60_000 },
    { key: 'alice', startMs: 60_000, endMs: 120_000 },
  ]);
  expect(await versions.getAsOf('alice', 2_000)).toEqual({ value: 1n, timestampMs: 1_000, validToMs: 59_999 });
  expect(minutes.partitions()).toEqual([0]);
  await app.close();
  await expect(minutes.get('alice', 0)).rejects.toMatchObject({ code: 'WORKER_NOT_RUNNING' });
});

it('a store in the hands of a run that no longer counts refuses methods and properties', () => {
  let isOpen = true;
  const store = {
    sum: 1,
    get time(): number {
      return this.sum + 1;
    },
    add(by: number): number {
      this.sum += by;
      return this.sum;
    },
  };
  const fenced = fencedStore(store, {
    checkFence() {
      if (!isOpen) throw new Error('closed');
    },
  });
  expect([fenced.add(4), fenced.time]).toEqual([5, 6]);
  isOpen = false;
  expect(() => fenced.add(1)).toThrow('closed');
  expect(() => fenced.time).toThrow('closed');
  expect(store.sum).toBe(5);
});
