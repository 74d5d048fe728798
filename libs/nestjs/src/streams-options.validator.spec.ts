import { Injectable, Module } from '@nestjs/common';
import { afterEach, describe, expect, it } from 'vitest';
import { fakeBroker } from './fake-worker.suite.js';
import { StreamsModule, type StreamsOptions, streamsTransport } from './index.js';
import { closeStarted, Ledger, options, start } from './application-fixtures.suite.js';

afterEach(closeStarted);

describe('options', () => {
  const valid: StreamsOptions = { applicationId: 'ledger', brokers: ['localhost:9092'], stateDirectory: '/tmp/ledger' };
  const wrong: readonly (readonly [option: string, change: Record<string, unknown>, allowed: RegExp])[] = [
    ['applicationId', { applicationId: 'no spaces' }, /1 to 100 characters/],
    ['applicationId', { applicationId: undefined }, /1 to 100 characters/],
    ['brokers', { brokers: undefined }, /'host:port'/],
    ['brokers', { brokers: [] }, /'host:port'/],
    ['brokers', { brokers: 'localhost' }, /'host:port'; 'localhost' is none/],
    ['brokers', { brokers: 'localhost:99999' }, /'host:port'/],
    ['broker', { broker: fakeBroker() }, /exclude one another/],
    ['broker', { brokers: undefined, broker: {} }, /a function that makes one/],
    ['client', { brokers: undefined, broker: fakeBroker(), client: {} }, /belongs to 'brokers'/],
    ['client', { client: { 'sasl.mechanism': null } }, /strings, numbers and booleans/],
    ['fetchProcess', { brokers: undefined, broker: fakeBroker(), fetchProcess: true }, /belongs to 'brokers'/],
    ['fetchProcess', { fetchProcess: 'yes' }, /true or false/],
    ['stateDirectory', { stateDirectory: '' }, /local disk/],
    ['storeEngine', { storeEngine: {} }, /store engine/],
    ['guarantee', { guarantee: 'exactly_once' }, /exactly-once, at-least-once, at-most-once/],
    ['commitIntervalMs', { commitIntervalMs: -1 }, /whole number from 0/],
    ['topologyVersion', { topologyVersion: 1.5 }, /whole number from 1/],
    ['onFailure', { onFailure: 'panic' }, /'exit', 'close'/],
    ['logger', { logger: 'console' }, /must be an object/],
    ['commitInterval', { commitInterval: 100 }, /is unknown. Known are: .*commitIntervalMs/],
  ];

  it.each(wrong)('%s in %o is refused by name', async (option, change, allowed) => {
    const { app } = await start([StreamsModule.forRoot({ ...valid, ...change })]);
    const error: unknown = await app.init().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'OPTION_INVALID', place: { option }, message: expect.stringMatching(allowed) as string });
  });

  it('of a factory, a class and an existing provider', async () => {
    @Injectable()
    class Settings {
      createStreamsOptions(): StreamsOptions {
        return options;
      }
    }
    @Module({ providers: [Settings, { provide: 'id', useValue: 'ledger' }], exports: [Settings, 'id'] })
    class SettingsModule {}
    const ways = [
      StreamsModule.forRootAsync({
        imports: [SettingsModule],
        inject: ['id'],
        useFactory: (applicationId: string) => Promise.resolve({ ...options, applicationId }),
      }),
      StreamsModule.forRootAsync({ useClass: Settings }),
      StreamsModule.forRootAsync({ imports: [SettingsModule], useExisting: Settings }),
    ];
    for (const way of ways) {
      const { app, workers } = await start([way], { controllers: [Ledger] });
      app.connectMicroservice({ strategy: streamsTransport(app) });
      await app.init();
      await app.startAllMicroservices();
      expect(workers.get('ledger')?.phase).toBe('running');
      await app.close();
    }
  });
});
