// @ts-check
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { processIdentity } from '../support/process-identity.mjs';
import { containerRuns } from './docker-broker.mjs';

/**
 * What `npm run broker -- start` remembers for `status` and `stop`.
 *
 * @typedef {object} BrokerState
 * @property {string} brokers
 * @property {string} directory
 * @property {string} startedAt ISO 8601
 * @property {import('./engine.mjs').BrokerDescription} engine
 */

/**
 * @param {string} file
 * @param {BrokerState} state
 */
export function writeState(file, state) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.draft`, `${JSON.stringify(state, undefined, 2)}\n`);
  renameSync(`${file}.draft`, file);
}

/**
 * Reads a state file and recognises a stale one: its process is gone, or its number belongs to another process by now.
 *
 * @param {string} file
 * @returns {{state?: BrokerState, stale?: BrokerState}}
 */
export function readState(file) {
  let state;
  try {
    state = /** @type {BrokerState} */ (JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
  return isAlive(state.engine) ? { state } : { stale: state };
}

/** @param {string} file */
export function removeState(file) {
  rmSync(file, { force: true });
}

/** @param {import('./engine.mjs').BrokerDescription} engine */
function isAlive(engine) {
  if (engine.kind === 'docker') return containerRuns(engine.container);
  return engine.pid !== undefined && engine.identity !== undefined && processIdentity(engine.pid) === engine.identity;
}
