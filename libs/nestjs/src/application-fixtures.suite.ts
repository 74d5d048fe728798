/** One small application for the tests of the module: a handler, a topology, and a provider that writes down its hooks. */
import {
  Controller,
  type DynamicModule,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { type KeyValueStore, MemoryEngine, type StreamsBuilder, int64, keyValueStore, silentLogger, string, topic } from '@tally/streams';
import { Store, StreamHandler, Topology } from './decorators/index.js';
import { events, fakeApplication, fakeBroker, type FakeSetup, FakeWorker } from './fake-worker.suite.js';
import { Ctx, Payload, type StreamContext, type StreamsOptions, type StreamsTopology } from './index.js';

export const payments = topic('payments', { key: string(), value: int64() });
export const refunds = topic('refunds', { key: string(), value: int64() });
export const balances = keyValueStore('balances', { key: string(), value: int64() });

export const options: StreamsOptions = {
  applicationId: 'ledger',
  broker: fakeBroker,
  storeEngine: new MemoryEngine(),
  logger: silentLogger,
  onFailure: 'close',
};

@Injectable()
export class Limits implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  readonly minimum = 0n;
  onModuleInit(): void {
    events.push('init');
  }
  onApplicationBootstrap(): void {
    events.push('bootstrap');
  }
  onModuleDestroy(): void {
    events.push('destroy');
  }
  onApplicationShutdown(): void {
    events.push('shutdown');
  }
}

@Topology('totals')
export class Totals implements StreamsTopology {
  constructor(private readonly limits: Limits) {}
  build(streams: StreamsBuilder): void {
    events.push(`build with minimum ${this.limits.minimum}`);
    streams.stream(refunds).filter((amount) => amount > this.limits.minimum);
  }
}

@Controller()
export class Ledger {
  @StreamHandler(payments, {
    stores: [balances],
    concurrency: { perTask: 4, orderedBy: 'key' },
    deadlineMs: 500,
    errors: { processing: { action: 'skip' } },
  })
  apply(@Payload() amount: bigint, @Ctx() context: StreamContext<string>, @Store(balances) store: KeyValueStore<string, bigint>): void {
    store.put(context.key, amount);
  }
}

const started: FakeSetup[] = [];

export async function start(
  imports: (DynamicModule | Type<unknown>)[],
  rest: { controllers?: Type<unknown>[]; providers?: (Type<unknown> | object)[] } = {},
): Promise<FakeSetup> {
  const setup = await fakeApplication({ imports, ...rest } as never);
  started.push(setup);
  return setup;
}

/** Closes what the test has started. */
export async function closeStarted(): Promise<void> {
  FakeWorker.startFailure = undefined;
  for (const { app } of started.splice(0)) await app.close();
}
