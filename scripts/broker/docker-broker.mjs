// @ts-check
import { execFileSync } from 'node:child_process';
import { run, which } from '../support/command.mjs';
import { onExit } from '../support/on-exit.mjs';
import { PlainError, tail, withProgress } from '../support/report.mjs';
import { guard } from './guardian.mjs';
import { kafkaImage } from './kafka-version.mjs';
import { whyNotReady } from './readiness.mjs';
import { propertiesEnvironment, serverProperties } from './server-properties.mjs';

/** An engine that is up answers in a fraction of this; one whose socket hangs never does. */
const infoTimeoutMs = 5_000;
const pullTimeoutMs = 10 * 60_000;
const commandTimeoutMs = 60_000;
const startTimeoutMs = 120_000;

/** @returns {Promise<boolean>} whether a Docker engine answers */
export async function dockerAnswers() {
  if (which('docker') === undefined) return false;
  const { code, stdout } = await run('docker', ['info', '--format', '{{.ServerVersion}}'], { timeoutMs: infoTimeoutMs });
  return code === 0 && stdout.trim() !== '';
}

/**
 * A broker in a container of the official image. Its data lives in the container, so it survives a stop, and goes with it.
 *
 * @implements {Engine}
 * @typedef {import('./engine.mjs').Engine} Engine
 */
export class DockerBroker {
  #created = false;
  #dismiss = () => {};

  /** @param {{name: string, ports: readonly [number, number], detached: boolean}} options `name` is the container's */
  constructor({ name, ports, detached }) {
    this.container = name;
    this.ports = ports;
    this.detached = detached;
    this.address = `127.0.0.1:${ports[0]}`;
  }

  get pid() {
    return undefined;
  }

  async start() {
    if (this.#created) await docker(['start', this.container]);
    else await this.#create();
    const reason = await whyNotReady(this.address, { timeoutMs: startTimeoutMs, whyDead: () => this.#whyDead() });
    if (reason === undefined) {
      // Only a broker that answers may outlive this process: one that is interrupted while it starts is nobody's.
      if (this.detached) this.#untie();
      return;
    }
    const { output } = await run('docker', ['logs', '--tail', '30', this.container], { timeoutMs: commandTimeoutMs });
    await this.remove();
    throw new PlainError(`The broker's container did not start: ${reason}. The end of its log:\n${tail(output)}`);
  }

  async stop() {
    await docker(['stop', '--time', '20', this.container]);
  }

  async kill() {
    await docker(['kill', this.container]);
  }

  async remove() {
    await run('docker', this.#removal(), { timeoutMs: commandTimeoutMs });
    this.#created = false;
    this.#untie();
  }

  describe() {
    return { kind: /** @type {const} */ ('docker'), container: this.container };
  }

  async #create() {
    if ((await run('docker', ['image', 'inspect', kafkaImage], { timeoutMs: commandTimeoutMs })).code !== 0) {
      await withProgress(`Downloading the image ${kafkaImage}`, () => docker(['pull', kafkaImage], pullTimeoutMs));
    }
    const [brokerPort, controllerPort] = this.ports;
    const properties = serverProperties({ brokerPort, controllerPort, dataDirectory: '/var/lib/kafka/data', listenAddress: '0.0.0.0' });
    const environment = [...propertiesEnvironment(properties), 'KAFKA_HEAP_OPTS=-Xms256m -Xmx1g'].flatMap((setting) => ['-e', setting]);
    const publish = `127.0.0.1:${brokerPort}:${brokerPort}`;
    this.#tieToThisProcess();
    await docker(['run', '-d', '--name', this.container, '--label', 'tally.broker', '-p', publish, ...environment, kafkaImage]);
    this.#created = true;
  }

  #tieToThisProcess() {
    const forget = onExit(() => execFileSync('docker', this.#removal(), { stdio: 'ignore', timeout: commandTimeoutMs }));
    const dismiss = guard(['docker', ...this.#removal()]);
    this.#dismiss = () => {
      forget();
      dismiss();
    };
  }

  #untie() {
    this.#dismiss();
    this.#dismiss = () => {};
  }

  #removal() {
    return ['rm', '--force', '--volumes', this.container];
  }

  #whyDead() {
    return containerRuns(this.container) ? undefined : 'the container ended';
  }
}

/** @param {string} container */
export function containerRuns(container) {
  try {
    const args = ['inspect', '--format', '{{.State.Running}}', container];
    return (
      execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: commandTimeoutMs }).trim() === 'true'
    );
  } catch {
    return false;
  }
}

/**
 * @param {readonly string[]} args
 * @param {number} timeoutMs
 */
async function docker(args, timeoutMs = commandTimeoutMs) {
  const { code, output } = await run('docker', args, { timeoutMs });
  if (code !== 0) throw new PlainError(`docker ${args[0]} failed:\n${tail(output, 15)}`);
}
