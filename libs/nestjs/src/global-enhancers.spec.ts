/** Which global enhancers a handler has depends on how its transport was connected, as for any microservice. */
import { Controller, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { MemoryEngine, type Processor, silentLogger, string, topic } from '@tally/streams';
import { afterEach, expect, it } from 'vitest';
import { StreamHandler } from './decorators/index.js';
import { fakeApplication, fakeBroker, type FakeSetup, FakeWorker } from './fake-worker.suite.js';
import { FakeScope } from './handlers/fixtures.suite.js';
import { StreamsModule, streamsTransport } from './index.js';
import type { WorkerProgram } from './streams-application.js';
import { getStreamsTransportToken, workerFactoryToken } from './streams.constants.js';

const payments = topic('payments', { key: string(), value: string() });
const log: string[] = [];

const guard = (label: string) => ({
  canActivate(context: ExecutionContext): boolean {
    log.push(`${label} ${context.getType()}`);
    return true;
  },
});

@Controller()
class Ledger {
  @StreamHandler(payments) apply(): void {
    log.push('handler');
  }
}

const metadata = {
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
  providers: [{ provide: APP_GUARD, useValue: guard('APP_GUARD') }],
};

let setup: FakeSetup | undefined;

afterEach(async () => {
  await setup?.app.close();
  setup = undefined;
  log.length = 0;
});

/** Puts one record through the node that the module made of the handler. */
function processOne({ topology }: WorkerProgram): void {
  const node = topology.nodes.get('Ledger.apply');
  if (node?.kind !== 'processor') throw new Error('The handler is no processor node.');
  const processor: Processor<unknown, unknown> = node.create();
  const result = processor.process({ key: 'alice', value: 'pay', timestampMs: 1, headers: [] }, new FakeScope());
  expect(result).toBeUndefined();
}

async function logOf(inheritAppConfig: boolean): Promise<readonly string[]> {
  setup = await fakeApplication(metadata);
  const { app, workers } = setup;
  app.useGlobalGuards(guard('application'));
  const microservice = app.connectMicroservice({ strategy: streamsTransport(app) }, { inheritAppConfig });
  if (!inheritAppConfig) microservice.useGlobalGuards(guard('microservice'));
  await app.init();
  await app.startAllMicroservices();
  processOne((workers.get('ledger') as FakeWorker).parts);
  return log;
}

it('with inheritAppConfig: those of the application', async () => {
  expect(await logOf(true)).toEqual(['APP_GUARD rpc', 'application rpc', 'handler']);
});

it('without it: those of the microservice alone', async () => {
  expect(await logOf(false)).toEqual(['microservice rpc', 'handler']);
});

it('of a microservice without an HTTP application: its own', async () => {
  let parts: WorkerProgram | undefined;
  const module = await Test.createTestingModule(metadata)
    .overrideProvider(workerFactoryToken)
    .useValue((each: WorkerProgram, options: never) => {
      parts = each;
      return new FakeWorker(each, options);
    })
    .compile();
  const microservice = module.createNestMicroservice({ strategy: module.get(getStreamsTransportToken()), logger: false });
  await microservice.listen();
  processOne(parts as WorkerProgram);
  expect(log).toEqual(['APP_GUARD rpc', 'handler']);
  await microservice.close();
});
