import { ForbiddenException, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { StreamsModule } from '@tally/nestjs';
import type { ErrorPolicies } from '@tally/streams';
import { BalancesController } from './balances.controller.js';
import { ForgettingTopology } from './forgetting.topology.js';
import { HealthController } from './health.controller.js';
import { balances, malformedPayments } from './ledger.topics.js';
import { LedgerService } from './ledger.service.js';
import { PaymentsController } from './payments.controller.js';
import { SeenEvents } from './seen-events.js';
import { SETTINGS, type Settings } from './settings.js';
import { SettingsModule } from './settings.module.js';
import { StatsController } from './stats.controller.js';

/** What is no payment, or lies under a foreign key, is put aside; everything else that fails is a fault of ours and stops the ledger. */
const errors: ErrorPolicies = {
  deserialization: { action: 'deadLetter', topic: malformedPayments },
  processing: (error) => (error instanceof ForbiddenException ? { action: 'deadLetter', topic: malformedPayments } : { action: 'stop' }),
};

@Module({
  imports: [
    SettingsModule,
    // What a probe is told is not worth a line each time.
    TerminusModule.forRoot({ logger: false }),
    StreamsModule.forRootAsync({
      imports: [SettingsModule],
      inject: [SETTINGS],
      useFactory: ({ brokers, applicationId, stateDirectory, guarantee, commitIntervalMs }: Settings) => ({
        brokers,
        applicationId,
        stateDirectory,
        guarantee,
        commitIntervalMs,
        errors,
      }),
    }),
    StreamsModule.forFeature([balances]),
  ],
  controllers: [PaymentsController, BalancesController, HealthController, StatsController],
  providers: [LedgerService, SeenEvents, ForgettingTopology],
})
export class LedgerModule {}
