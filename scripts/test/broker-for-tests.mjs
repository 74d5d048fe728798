// @ts-check
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { ensureBroker } from '../broker.mjs';
import { root } from '../support/paths.mjs';

/**
 * Gives the suites over a real broker one to share (KAFKA_BROKERS), and says where they find what starts one of their own (TALLY_BROKER_CONTROL).
 *
 * @returns {Promise<() => Promise<void>>} stops the broker, if it was started here
 */
export default async function provideBroker() {
  const { brokers, stop } = await ensureBroker();
  process.env['KAFKA_BROKERS'] = brokers;
  process.env['TALLY_BROKER_CONTROL'] ??= pathToFileURL(join(root, 'scripts', 'broker.mjs')).href;
  return stop;
}
