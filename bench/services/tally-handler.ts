/** The benchmark's work as a Nest service with a handler: the same sums as the DSL's. */
import '@tally/telemetry/register';
import { Controller, Module } from '@nestjs/common';
import { bootstrapStreams, Ctx, Payload, Store, type StreamContext, StreamHandler, StreamsModule } from '@tally/nestjs';
import type { KeyValueStore } from '@tally/streams';
import type { Payment } from './payment.js';
import { balances, balanceUpdates, payments, settings } from './payment-sums.js';
import { runningReporter } from './running-reporter.js';

@Controller()
export class PaymentsController {
  @StreamHandler(payments, { stores: [balances] })
  apply(@Payload() payment: Payment, @Ctx() context: StreamContext<string>, @Store(balances) store: KeyValueStore<string, bigint>): void {
    const sum = (store.get(context.key) ?? 0n) + BigInt(payment.amount);
    store.put(context.key, sum);
    context.send(balanceUpdates, context.key, sum);
  }
}

@Module({
  imports: [
    StreamsModule.forRoot({
      brokers: settings.brokers,
      fetchProcess: settings.fetchProcess,
      applicationId: settings.application,
      stateDirectory: settings.stateDirectory,
      commitIntervalMs: settings.commitMs,
      hooks: runningReporter(settings.partitions),
    }),
  ],
  controllers: [PaymentsController],
})
export class PaymentSumsModule {}

await bootstrapStreams(PaymentSumsModule, { port: 0, host: '127.0.0.1', nest: { logger: ['error', 'warn', 'fatal'] } });
