/**
 * One import, before everything else, and the process is observed: `import '@tally/telemetry/register'`, or `node --import
 * @tally/telemetry/register`. Where to is said by OpenTelemetry's environment variables; without any of them nothing is even loaded.
 */
import { isConfigured } from './settings.js';

if (isConfigured(process.env)) {
  try {
    const { startTelemetry } = await import('./start-telemetry.js');
    startTelemetry();
  } catch (error) {
    process.stderr.write(`Telemetry is off, for it cannot be started: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}
