// @ts-check
import { say } from '../support/report.mjs';
import { PlainError } from '../support/report.mjs';
import { answers } from './readiness.mjs';
import { startBroker } from './start-broker.mjs';

/**
 * Gives a broker to work with: the one that KAFKA_BROKERS names, else one that is started now and ends with this process.
 *
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<{brokers: string, stop: () => Promise<void>}>} stopping leaves one alone that was not started here
 */
export async function ensureBroker(env = process.env) {
  const configured = env['KAFKA_BROKERS'];
  if (configured) {
    await checkReachable(configured);
    return { brokers: configured, stop: async () => {} };
  }
  const started = Date.now();
  const { brokers, stop } = await startBroker();
  say(`A Kafka broker answers at ${brokers} (after ${((Date.now() - started) / 1000).toFixed(1)} s)`);
  return { brokers, stop };
}

/** @param {string} brokers bootstrap servers, of which one must answer */
async function checkReachable(brokers) {
  for (const address of brokers.split(',')) {
    if (await answers(address.trim(), 10_000)) return;
  }
  throw new PlainError(
    `No broker answers at ${brokers}, which KAFKA_BROKERS names. Start it, correct the variable, or unset it: then one is started for you.`,
  );
}
