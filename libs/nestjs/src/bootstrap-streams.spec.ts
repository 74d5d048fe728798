import { Controller, Get, Module } from '@nestjs/common';
import { MemoryEngine, silentLogger, string, topic } from '@tally/streams';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { StreamHandler } from './decorators/index.js';
import { events, fakeBroker, FakeWorker } from './fake-worker.suite.js';
import { bootstrapStreams, StreamsModule } from './index.js';
import { StreamsCoreModule } from './streams-core.module.js';
import { workerFactoryToken } from './streams.constants.js';

const payments = topic('payments', { key: string(), value: string() });

@Controller()
class Ledger {
  @StreamHandler(payments) apply(): void {}
  @Get() ping(): string {
    return 'pong';
  }
}

@Module({
  imports: [
    StreamsModule.forRoot({
      applicationId: 'ledger',
      broker: fakeBroker,
      storeEngine: new MemoryEngine(),
      logger: silentLogger,
      onFailure: 'close',
    }),
  ],
  controllers: [Ledger],
})
class AppModule {}

@Module({ imports: [StreamsModule.forRoot({ applicationId: 'no spaces', broker: fakeBroker, storeEngine: new MemoryEngine() })] })
class MisconfiguredModule {}

const printed: string[] = [];

beforeEach(() => {
  printed.length = 0;
  events.length = 0;
  FakeWorker.startFailure = undefined;
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(printed.push(String(text))));
  const providers = Reflect.getMetadata('providers', StreamsCoreModule) as { provide?: symbol }[];
  const others = providers.filter(({ provide }) => provide !== workerFactoryToken);
  Reflect.defineMetadata(
    'providers',
    [...others, { provide: workerFactoryToken, useValue: (parts: never, options: never) => new FakeWorker(parts, options) }],
    StreamsCoreModule,
  );
});

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
});

it('serves HTTP, then runs the worker', async () => {
  const app = await bootstrapStreams(AppModule, { port: 0, host: '127.0.0.1', nest: { logger: false } });
  const url = (await app?.getUrl()) ?? '';
  expect(await (await fetch(url)).text()).toBe('pong');
  expect(events).toEqual(['start ledger']);
  await app?.close();
  expect(events).toEqual(['start ledger', 'stop ledger', 'stopped ledger']);
});

it('prints why a worker cannot start, and ends with exit code 1', async () => {
  FakeWorker.startFailure = new Error('no broker answers');
  expect(await bootstrapStreams(AppModule, { port: 0, host: '127.0.0.1', nest: { logger: false } })).toBeUndefined();
  expect(process.exitCode).toBe(1);
  expect(printed.join('')).toContain('no broker answers');
});

it("prints one of Tally's own errors in one line, without a stack", async () => {
  expect(await bootstrapStreams(MisconfiguredModule, { port: 0, host: '127.0.0.1', nest: { logger: false } })).toBeUndefined();
  expect(process.exitCode).toBe(1);
  expect(printed.join('')).toMatch(/^InvalidConfigurationError OPTION_INVALID: Option 'applicationId' must be 1 to 100 characters.*\n$/);
});
