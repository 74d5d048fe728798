// @ts-check
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { cloneState } from '../support/paths.mjs';
import { onExit } from '../support/on-exit.mjs';
import { MissingError, PlainError } from '../support/report.mjs';
import { installCommand } from '../setup/system-packages.mjs';
import { DockerBroker, dockerAnswers } from './docker-broker.mjs';
import { disown, newDirectory } from './broker-directory.mjs';
import { findJava, oldestJava } from './java.mjs';
import { JavaBroker } from './java-broker.mjs';
import { kafkaJars } from './kafka-jars.mjs';
import { freePorts } from './ports.mjs';
import { answers } from './readiness.mjs';

/**
 * @typedef {object} StartOptions
 * @property {string} [directory] for data and logs; a new one under .tally/ unless given
 * @property {readonly [number, number]} [ports] of the broker and its controller; free ones unless given
 * @property {boolean} [keep] leaves the directory in place when the broker is stopped for good
 * @property {boolean} [detached] lets the broker outlive this process
 */

/**
 * A running broker.
 *
 * @typedef {object} RunningBroker
 * @property {string} brokers bootstrap servers: `host:port`
 * @property {readonly [number, number]} ports
 * @property {string} directory of its data and logs
 * @property {number | undefined} pid of the Java process, nothing in a container
 * @property {() => Promise<void>} halt ends it in an orderly way; `restart` brings it back with its data
 * @property {() => Promise<void>} kill ends it as a crash does; `restart` brings it back with its data
 * @property {() => Promise<void>} restart starts it again on the same ports, after ending it if it still runs
 * @property {() => Promise<void>} stop ends it for good and removes what it left
 * @property {() => import('./engine.mjs').BrokerDescription} describe
 */

/** With free ports chosen by us, another process may take one before the broker does. */
const attemptsMax = 3;

/**
 * Starts a broker of its own: with Docker if an engine answers, else with Java. It ends with this process, unless it is detached.
 *
 * @param {StartOptions} [options]
 * @returns {Promise<RunningBroker>}
 */
export async function startBroker({ directory, ports, keep = false, detached = false } = {}) {
  const create = await chooseEngine(process.env['TALLY_BROKER']);
  const home = directory ?? newDirectory(join(cloneState, 'brokers'));
  const removeDirectory = () => (keep ? undefined : rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const forget = onExit(removeDirectory);
  for (let attempt = 1; ; attempt++) {
    const [broker = 0, controller = 0] = ports ?? (await freePorts(2));
    const engine = create({ directory: home, ports: [broker, controller], detached });
    try {
      await engine.start();
    } catch (error) {
      await engine.remove();
      const portTaken = error instanceof PlainError && /Address already in use|port is already allocated/i.test(error.message);
      if (portTaken && ports === undefined && attempt < attemptsMax) continue;
      removeDirectory();
      forget();
      throw error;
    }
    const stop = async () => {
      if (engine instanceof JavaBroker && keep) await engine.stop();
      await engine.remove();
      removeDirectory();
      forget();
    };
    if (detached) {
      disown(home);
      forget();
    }
    return runningBroker(engine, home, stop);
  }
}

/**
 * @param {import('./engine.mjs').Engine} engine
 * @param {string} directory
 * @param {() => Promise<void>} stop
 * @returns {RunningBroker}
 */
function runningBroker(engine, directory, stop) {
  return {
    brokers: engine.address,
    ports: engine.ports,
    directory,
    get pid() {
      return engine.pid;
    },
    halt: () => engine.stop(),
    kill: () => engine.kill(),
    restart: async () => {
      if (await answers(engine.address)) await engine.stop();
      await engine.start();
    },
    stop,
    describe: () => engine.describe(),
  };
}

/**
 * @typedef {(place: {directory: string, ports: readonly [number, number], detached: boolean}) => import('./engine.mjs').Engine} CreateEngine
 * @param {string | undefined} wanted `docker` or `java`, to take this one and no other
 * @returns {Promise<CreateEngine>}
 */
async function chooseEngine(wanted) {
  if (wanted !== undefined && wanted !== '' && wanted !== 'docker' && wanted !== 'java') {
    throw new PlainError(`TALLY_BROKER is '${wanted}': it must be 'docker', 'java' or not set.`);
  }
  if (wanted !== 'java' && (await dockerAnswers())) {
    return ({ ports, detached }) => new DockerBroker({ name: `tally-broker-${randomBytes(4).toString('hex')}`, ports, detached });
  }
  if (wanted === 'docker') throw brokerMissing('TALLY_BROKER asks for Docker, but no Docker engine answers.');
  const { java, tooOld } = await findJava();
  if (java === undefined) {
    throw brokerMissing(
      tooOld === undefined
        ? 'Neither a Docker engine nor Java answers.'
        : `No Docker engine answers, and ${tooOld.executable} is Java ${tooOld.major}, older than ${oldestJava}.`,
    );
  }
  const jars = await kafkaJars();
  return ({ directory, ports, detached }) => new JavaBroker({ java: java.executable, jars, directory, ports, detached });
}

/** @param {string} what */
function brokerMissing(what) {
  return new MissingError({
    what,
    why: 'The tests, the demo and the benchmark run on a real Apache Kafka broker.',
    command: `${installCommand((manager) => [manager.java])}\nor: start a Docker engine\nor: export KAFKA_BROKERS=host:port of a broker, version 4.0 or newer, that may be used`,
  });
}
