import '@tally/telemetry/register';
import { bootstrapStreams } from '@tally/nestjs';
import { LedgerModule } from './ledger.module.js';
import { readSettings, SettingsError } from './settings.js';

try {
  const { port } = readSettings(process.env);
  await bootstrapStreams(LedgerModule, { port });
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
