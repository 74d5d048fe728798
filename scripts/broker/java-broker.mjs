// @ts-check
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../support/command.mjs';
import { onExit } from '../support/on-exit.mjs';
import { processIdentity } from '../support/process-identity.mjs';
import { PlainError, tail } from '../support/report.mjs';
import { guard } from './guardian.mjs';
import { isFree } from './ports.mjs';
import { whyNotReady } from './readiness.mjs';
import { loggingConfiguration, propertiesFile, serverProperties } from './server-properties.mjs';

const startTimeoutMs = 120_000;
const stopTimeoutMs = 20_000;

/**
 * A broker that runs as a Java process, with its data in a directory of its own.
 *
 * @implements {Engine}
 * @typedef {import('./engine.mjs').Engine} Engine
 */
export class JavaBroker {
  /** @type {number | undefined} */
  #pid;
  #dismiss = () => {};
  /** @type {Promise<void>} */
  #exited = Promise.resolve();

  /**
   * @param {{java: string, jars: string, directory: string, ports: readonly [number, number], detached: boolean}} options the ports are the broker's and the
   *   controller's; a detached one outlives this process
   */
  constructor({ java, jars, directory, ports, detached }) {
    this.java = java;
    this.jars = jars;
    this.directory = directory;
    this.ports = ports;
    this.detached = detached;
    this.address = `127.0.0.1:${ports[0]}`;
    this.logFile = join(directory, 'broker.log');
    this.outputFile = join(directory, 'output.log');
  }

  get pid() {
    return this.#pid;
  }

  async start() {
    if (this.#pid !== undefined) throw new Error('This broker runs already.');
    await this.#checkPorts();
    const configuration = await this.#format();
    const output = openSync(this.outputFile, 'a');
    const child = spawn(this.java, [...this.#javaOptions(), '-Xms256m', '-Xmx1g', 'kafka.Kafka', configuration], {
      cwd: this.directory,
      stdio: ['ignore', output, output],
      detached: true,
    });
    closeSync(output);
    /** @type {string | undefined} */
    let ended;
    child.on('error', (error) => {
      ended = error.message;
    });
    this.#exited = new Promise((resolve) => {
      child.on('exit', (code, signal) => {
        ended = `it ended with ${signal ?? `code ${code}`}`;
        if (this.#pid === child.pid) this.#forget();
        resolve(undefined);
      });
    });
    child.unref();
    this.#pid = child.pid;
    if (child.pid !== undefined) this.#tieToThisProcess(child.pid);
    const reason = await whyNotReady(this.address, { timeoutMs: startTimeoutMs, whyDead: () => ended });
    if (reason === undefined) {
      // Only a broker that answers may outlive this process: one that is interrupted while it starts is nobody's.
      if (this.detached) this.#untie();
      return;
    }
    await this.kill();
    throw new PlainError(`The broker did not start: ${reason}. The end of its log:\n${this.#logTail()}`);
  }

  /** Ends it in an orderly way, so that the next start need not recover its logs. */
  async stop() {
    await this.#end('SIGTERM', stopTimeoutMs);
    await this.kill();
  }

  /** Ends it at once, as a crash does. */
  async kill() {
    await this.#end('SIGKILL', stopTimeoutMs);
  }

  /** Nothing is left of it but its directory. */
  async remove() {
    await this.kill();
  }

  describe() {
    const pid = this.#pid;
    return {
      kind: /** @type {const} */ ('java'),
      pid,
      identity: pid === undefined ? undefined : processIdentity(pid),
      logFile: this.logFile,
    };
  }

  /**
   * @param {NodeJS.Signals} signal
   * @param {number} timeoutMs
   */
  async #end(signal, timeoutMs) {
    const pid = this.#pid;
    if (pid === undefined) return;
    signalProcess(pid, signal);
    // Not until its number is free or its corpse is seen: a process can look dead while its last threads still hold the port.
    const waiting = new AbortController();
    await Promise.race([this.#exited, sleep(timeoutMs, undefined, { signal: waiting.signal }).catch(() => {})]);
    waiting.abort();
  }

  /** @param {number} pid */
  #tieToThisProcess(pid) {
    const forget = onExit(() => signalProcess(pid, 'SIGKILL'));
    const dismiss = guard(['kill', '-KILL', String(pid)]);
    this.#dismiss = () => {
      forget();
      dismiss();
    };
  }

  #forget() {
    this.#pid = undefined;
    this.#untie();
  }

  #untie() {
    this.#dismiss();
    this.#dismiss = () => {};
  }

  /** Else a broker that is there already would answer in the place of this one. */
  async #checkPorts() {
    for (const port of this.ports) {
      if (!(await isFree(port)))
        throw new PlainError(`The broker cannot start: port ${port} of 127.0.0.1 is taken (Address already in use).`);
    }
  }

  /** Writes the configuration and, the first time, prepares the data directory. */
  async #format() {
    const data = join(this.directory, 'data');
    const configuration = join(this.directory, 'server.properties');
    mkdirSync(this.directory, { recursive: true });
    const [brokerPort, controllerPort] = this.ports;
    writeFileSync(configuration, propertiesFile(serverProperties({ brokerPort, controllerPort, dataDirectory: data })));
    writeFileSync(join(this.directory, 'log4j2.yaml'), loggingConfiguration(this.logFile));
    if (existsSync(join(data, 'meta.properties'))) return configuration;
    const args = [
      ...this.#javaOptions(),
      '-XX:TieredStopAtLevel=1',
      'kafka.tools.StorageTool',
      'format',
      '-t',
      newClusterId(),
      '-c',
      configuration,
    ];
    const { code, output } = await run(this.java, args, { cwd: this.directory, timeoutMs: startTimeoutMs });
    if (code !== 0) throw new PlainError(`The broker's data directory ${data} could not be prepared:\n${tail(output, 15)}`);
    return configuration;
  }

  #javaOptions() {
    const options = ['-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20', '-Djava.awt.headless=true'];
    return [...options, `-Dlog4j2.configurationFile=${join(this.directory, 'log4j2.yaml')}`, '-cp', join(this.jars, '*')];
  }

  #logTail() {
    return [this.logFile, this.outputFile].map((file) => (existsSync(file) ? tail(readFileSync(file, 'utf8'), 20) : '')).join('\n');
  }
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
export function signalProcess(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}

/** Sixteen random bytes in base64url, which must not begin with '-': the tool would take it for an option. */
export function newClusterId() {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString('base64url');
}
