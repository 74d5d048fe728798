// @ts-check
/** What the three measurements share: names that belong to one run, programs started in processes of their own, and tidying up. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cloneState } from '../scripts/support/paths.mjs';
import { connectCluster, partitionCount } from './cluster.mjs';
import { openGroupOffsets } from './group-offsets.mjs';
import { ServiceProcess } from './service-process.mjs';

const stallMs = 120_000;

/** @typedef {ReturnType<typeof openRun>} Run */
/** @typedef {ReturnType<Run['prepare']> extends Promise<infer T> ? T : never} Entry */

/**
 * @param {object} setting
 * @param {import('./arguments.mjs').BenchOptions} setting.options
 * @param {string} setting.brokers
 * @param {import('./java-peer.mjs').JavaPeer | undefined} setting.javaPeer absent when it does not take part
 * @param {Readonly<Record<string, string>>} setting.memoryEnv
 */
export function openRun({ options, brokers, javaPeer, memoryEnv }) {
  const prefix = `bench-${randomBytes(4).toString('hex')}`;
  const cluster = connectCluster(brokers);
  const directory = join(cloneState, prefix);
  mkdirSync(directory, { recursive: true });
  let entries = 0;

  return {
    options,
    cluster,
    /** Of the benchmark's own Node programs. */
    env: memoryEnv,

    /** Starts a program of the benchmark's own in this folder. @param {string} name for messages @param {string} file */
    program: (name, file) => new ServiceProcess(name, { file: process.execPath, args: [join(import.meta.dirname, file)], env: {} }),

    /** @param {string} name @returns {Promise<string>} the name of a new topic of this run */
    async topic(name) {
      await cluster.createTopic(`${prefix}-${name}`);
      return `${prefix}-${name}`;
    },

    /**
     * Starts the load program.
     * @param {{ topic: string, records: number, rate: number, seed?: number }} load
     */
    load({ topic, records, rate, seed = options.seed }) {
      const words = { brokers, topic, records, rate, seed, keys: options.keys };
      const args = [join(import.meta.dirname, 'load.mjs'), ...Object.entries(words).map(([name, value]) => `${name}=${value}`)];
      return new ServiceProcess('The load program', { file: process.execPath, args, env: memoryEnv });
    },

    /**
     * Gives a contender names, topics and a state directory of its own.
     * @param {import('./contenders.mjs').Contender} contender
     * @param {string} input
     * @param {Readonly<Record<string, string>>} [env] added to that of every contender
     */
    async prepare(contender, input, env = {}) {
      const application = `${prefix}-${++entries}-${contender.name}`;
      const output = `${application}-output`;
      await cluster.createTopic(output);
      const stateDirectory = join(directory, application);
      const services = {
        brokers,
        application,
        input,
        output,
        stateDirectory,
        commitMs: options.commitMs,
        partitions: partitionCount,
        fetchProcess: false,
      };
      const command = {
        ...contender.command(services, { javaPeer, profile: options.profile }),
        env: { UV_THREADPOOL_SIZE: '16', ...memoryEnv, ...env },
      };
      const offsets = await openGroupOffsets(brokers, application, input);
      return {
        contender,
        application,
        input,
        output,
        offsets,
        start: () => new ServiceProcess(contender.title, command),
        /** Deletes its topics, its group and its state; it has stopped. */
        async remove() {
          await offsets.close();
          await cluster.remove(application, [application]);
          rmSync(stateDirectory, { recursive: true, force: true });
        },
      };
    },

    /** Deletes all that is left of the run. */
    async close() {
      await cluster.remove(prefix, []);
      cluster.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Watches a group's committed offsets until they have reached a count.
 * @param {Entry} entry
 * @param {ServiceProcess} service
 * @param {number} records
 * @param {(committed: number) => void} [progress]
 */
export async function untilCommitted(entry, service, records, progress = () => undefined) {
  let last = 0;
  let changedMs = performance.now();
  for (;;) {
    service.assertAlive();
    const committed = await entry.offsets.committedRecords();
    const nowMs = performance.now();
    if (committed !== last) {
      last = committed;
      changedMs = nowMs;
      progress(committed);
    }
    if (committed >= records) return;
    if (nowMs - changedMs > stallMs)
      throw new Error(`${entry.contender.title} stands still at ${committed} of ${records} committed records.`);
    await sleep(50);
  }
}

/**
 * Runs a contender over the whole input.
 * @template T
 * @param {Run} run
 * @param {import('./contenders.mjs').Contender} contender
 * @param {string} input
 * @param {number} records
 * @param {(entry: Entry) => Promise<T>} look at its output, once it has stopped
 * @param {Readonly<Record<string, string>>} [env]
 */
export async function measureService(run, contender, input, records, look, env) {
  const entry = await run.prepare(contender, input, env);
  const service = entry.start();
  try {
    let first = { committed: 0, atMs: service.startedMs };
    await untilCommitted(entry, service, records, (committed) => {
      if (first.committed === 0 && committed < records) first = { committed, atMs: performance.now() };
    });
    const endMs = performance.now();
    const { cpuSeconds, peakRssMb } = service.figures;
    await service.stop();
    return {
      result: await look(entry),
      recordsPerSecond: ((records - first.committed) * 1_000) / (endMs - first.atMs),
      cpuSecondsPerMillion: (cpuSeconds * 1_000_000) / records,
      peakRssMb,
      wallSeconds: (endMs - service.startedMs) / 1_000,
    };
  } finally {
    await service.stop();
    await entry.remove();
  }
}

/**
 * Writes the input as fast as it goes.
 * @param {Run} run @param {string} topic @param {number} records
 */
export async function writeInput(run, topic, records) {
  const [line] = await run.load({ topic, records, rate: 0 }).completed();
  if (line !== `written ${records}`) throw new Error(`The load program was to write ${records} payments and says "${line}".`);
}
