// @ts-check
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlainError } from '../scripts/support/report.mjs';
import { readProcessFigures } from './process-figures.mjs';

const keptErrorCharacters = 4_000;

/**
 * @typedef {object} Command
 * @property {string} file
 * @property {readonly string[]} args
 * @property {Readonly<Record<string, string>>} env added to the benchmark's own
 */

/** @type {Set<ServiceProcess>} */
const alive = new Set();

let ended = false;

const interrupted = () => new PlainError('The benchmark was interrupted.');

/** Kills whatever still runs and starts nothing more; for the benchmark's own end. What waits for a program fails then, and tidies up. */
export function killAll() {
  ended = true;
  for (const process of alive) process.kill();
}

/** A program of the benchmark in a process of its own, watched from outside. It reports itself by lines like `state running`. */
export class ServiceProcess {
  #child;
  #name;
  #errors = '';
  /** @type {string[]} */
  #lines = [];
  /** @type {Promise<void>} */
  #ended;

  /** @param {string} name for messages @param {Command} command */
  constructor(name, command) {
    if (ended) throw interrupted();
    this.#name = name;
    this.#child = spawn(command.file, command.args, { env: { ...process.env, ...command.env }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.startedMs = performance.now();
    alive.add(this);
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#lines.push(line));
    this.#child.stderr.on('data', (chunk) => (this.#errors = (this.#errors + chunk).slice(-keptErrorCharacters)));
    /** @type {Promise<void>} */
    const closed = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#errors += error.message;
        resolve();
      });
      this.#child.once('close', () => resolve());
    });
    this.#ended = closed.then(() => void alive.delete(this));
  }

  /** What it has said so far, line by line. @returns {readonly string[]} */
  get lines() {
    return this.#lines;
  }

  get figures() {
    this.assertAlive();
    return readProcessFigures(this.#child.pid ?? 0);
  }

  /** @throws when the process has ended, with what it wrote on standard error */
  assertAlive() {
    if (alive.has(this)) return;
    if (ended) throw interrupted();
    const how = this.#child.signalCode ?? `exit code ${this.#child.exitCode}`;
    throw new Error(`${this.#name} ended by itself (${how}).\n${this.#errors}`);
  }

  /**
   * Waits for a line of the program.
   * @param {string} expected @param {number} timeoutMs
   */
  async line(expected, timeoutMs) {
    const deadline = performance.now() + timeoutMs;
    while (!this.#lines.includes(expected)) {
      this.assertAlive();
      if (performance.now() > deadline)
        throw new Error(`${this.#name} did not report "${expected}" within ${timeoutMs / 1_000} s.\n${this.#errors}`);
      await sleep(10);
    }
  }

  /** Waits until the program has ended well, and gives its lines. */
  async completed() {
    await this.#ended;
    if (this.#child.exitCode !== 0)
      throw new Error(`${this.#name} failed (${this.#child.signalCode ?? `exit code ${this.#child.exitCode}`}).\n${this.#errors}`);
    return this.#lines;
  }

  /** Asks it to end, and makes it after a while. */
  async stop() {
    this.#child.kill('SIGTERM');
    await Promise.race([this.#ended, sleep(20_000, undefined, { ref: false })]);
    this.kill();
    await this.#ended;
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  /** Kills it as a crash would, and waits until the system has taken it away. */
  async crash() {
    this.kill();
    await this.#ended;
  }
}

/**
 * Runs a program of this folder that prints one line, its figures as JSON.
 * @param {string} title
 * @param {readonly string[]} words the program and its arguments
 * @param {Pick<import('./arguments.mjs').BenchOptions, 'profile'>} options
 * @param {Command['env']} env
 * @returns {Promise<Record<string, number>>} what it prints
 */
export async function figuresOf(title, [program = '', ...words], { profile }, env) {
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const args = [...profiling, join(import.meta.dirname, program), ...words];
  const [line] = await new ServiceProcess(title, { file: process.execPath, args, env }).completed();
  return JSON.parse(line ?? '');
}
