import { Controller, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { connectStreams, Ctx, Payload, type StreamContext, StreamHandler, StreamsModule, workerFactoryToken } from '@tally/nestjs';
import { int64, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { expect, it } from 'vitest';

const payments = topic('payments', { key: string(), value: int64() });
const accepted = topic('accepted', { key: string(), value: int64() });

@Injectable()
class Limits {
  readonly largest: bigint = 1_000n;
}

@Controller()
class PaymentsController {
  constructor(private readonly limits: Limits) {}

  @StreamHandler(payments)
  check(@Payload() amount: bigint, @Ctx() context: StreamContext<string>) {
    if (amount <= this.limits.largest) context.send(accepted, context.key, amount);
  }
}

@Module({
  imports: [StreamsModule.forRoot({ applicationId: 'checks', brokers: 'localhost:9092', stateDirectory: './state' })],
  controllers: [PaymentsController],
  providers: [Limits],
})
class AppModule {}

it('lets small payments pass', async () => {
  const driver = new TopologyTestDriver();
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(workerFactoryToken)
    .useValue(driver.createWorker)
    .overrideProvider(Limits)
    .useValue({ largest: 10n })
    .compile();
  const app = module.createNestApplication();
  connectStreams(app);
  await app.init();
  await app.startAllMicroservices();

  await driver.input(payments).pipe('alice', 10n);
  await driver.input(payments).pipe('alice', 11n);

  expect(driver.output(accepted).readAll()).toMatchObject([{ key: 'alice', value: 10n }]);
  await app.close();
});
