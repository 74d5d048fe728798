// @ts-check
import { join } from 'node:path';
import { builtServices } from './build-services.mjs';
import { addPayment, newSum } from './sums.mjs';

/** @typedef {import('./arguments.mjs').ContenderName} ContenderName */
/** @typedef {import('./service-arguments.mjs').ServiceArguments} ServiceArguments */
/** @typedef {import('./java-peer.mjs').JavaPeer} JavaPeer */
/** @typedef {import('./service-process.mjs').Command} Command */

/**
 * @typedef {object} Launch
 * @property {JavaPeer | undefined} javaPeer absent when no Java program takes part
 * @property {string | undefined} profile directory for CPU profiles of Node programs
 */

/**
 * @typedef {object} Contender
 * @property {ContenderName} name
 * @property {string} title
 * @property {'node' | 'java'} platform
 * @property {import('./sums.mjs').Fold} fold how its output is read
 * @property {(services: ServiceArguments, how: Launch) => { file: string, args: string[] }} command
 */

/** @type {Readonly<Record<ContenderName, Contender>>} */
export const contenders = {
  tally: node('tally', 'Tally, DSL aggregate', join(builtServices, 'tally-aggregate.js'), newSum, { fetchProcess: true }),
  tallyOneProcess: node('tallyOneProcess', 'Tally, DSL aggregate, in one process', join(builtServices, 'tally-aggregate.js'), newSum),
  tallyHandler: node('tallyHandler', 'Tally, @StreamHandler', join(builtServices, 'tally-handler.js'), newSum, { fetchProcess: true }),
  kafkaStreams: java('kafkaStreams', 'Kafka Streams 4.4', []),
  kafkaStreamsTransactional: java('kafkaStreamsTransactional', 'Kafka Streams 4.4, transactional stores', [
    'enable.transactional.statestores=true',
  ]),
  rawClient: node('rawClient', 'raw client, no state', join(import.meta.dirname, 'raw-client.mjs'), addPayment),
};

/**
 * @param {ContenderName} name @param {string} title @param {string} program @param {import('./sums.mjs').Fold} fold
 * @param {Partial<ServiceArguments>} [own] what it is given instead of what all are
 * @returns {Contender}
 */
function node(name, title, program, fold, own = {}) {
  const command = (/** @type {ServiceArguments} */ services, /** @type {Launch} */ { profile }) => ({
    file: process.execPath,
    args: [...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]), program, ...words({ ...services, ...own })],
  });
  return { name, title, platform: 'node', fold, command };
}

/**
 * The killed member of a classic group keeps its partitions until its session ends, so the session is as long as the one that the brokers of the
 * benchmark give to members of the newer protocol.
 * @param {ContenderName} name @param {string} title @param {readonly string[]} settings
 * @returns {Contender}
 */
function java(name, title, settings) {
  return { name, title, platform: 'java', fold: newSum, command: javaCommand('PaymentSums', settings) };
}

/** @param {string} program @param {readonly string[]} more words @returns {Contender['command']} */
function javaCommand(program, more) {
  return (services, { javaPeer }) => ({
    file: javaPeer?.java ?? 'java',
    args: ['-cp', javaPeer?.classPath ?? '', program, ...words(services), 'main.consumer.session.timeout.ms=6000', ...more],
  });
}

/**
 * A program that runs one family of operators.
 * @param {'tally' | 'kafkaStreams'} name @param {string} family
 * @returns {Contender}
 */
export function operatorContender(name, family) {
  const more = [`family=${family}`];
  if (name === 'kafkaStreams') return { ...contenders.kafkaStreams, command: javaCommand('OperatorFamilies', more) };
  const { command } = node(name, 'Tally', join(builtServices, 'tally-operators.js'), newSum);
  return {
    ...contenders.tally,
    title: 'Tally',
    command: (services, how) => {
      const { file, args } = command(services, how);
      return { file, args: [...args, ...more] };
    },
  };
}

/** @param {ServiceArguments} services */
function words(services) {
  return Object.entries(services).map(([name, value]) => `${name}=${value}`);
}
