// @ts-check
/**
 * A process with one worker, for tests that kill, stop and watch it. Runs what was built.
 *
 * Its one argument is its configuration as JSON. It reports on its standard output, one JSON object a line, each with the `event`'s name
 * and its time; it takes commands on its standard input, one JSON object a line, and answers each under the command's `id`. It ends when
 * its input does.
 *
 * Writes to a pipe are synchronous, so that what a process reported before it was killed has been read.
 */
import { createInterface } from 'node:readline';
import { createKafkaBroker } from '@tally/kafka';
import { LevelDbEngine, StreamsWorker } from '@tally/streams';

/**
 * @typedef {object} Configuration
 * @property {string} name
 * @property {string} brokers
 * @property {string} topology name in the module of topologies
 * @property {string} topologies URL of the module of topologies
 * @property {Readonly<Record<string, string>>} topics names by role
 * @property {import('@tally/streams').WorkerOptions} options
 * @property {Omit<import('@tally/kafka').KafkaBrokerOptions, 'brokers'>} [client]
 * @property {readonly Plan[]} [plans] from the beginning on
 *
 * @typedef {object} Plan what is to happen at a point of the commit
 * @property {'kill' | 'killSoon' | 'hold'} action `killSoon`: when the step behind the point has begun
 * @property {string} point
 * @property {number} passes at which pass of the point, from now on; 1 is the next one
 */

const configuration = /** @type {Configuration} */ (JSON.parse(process.argv[2] ?? '{}'));
const { topologies } = /** @type {typeof import('./topologies.mjs')} */ (await import(configuration.topologies));
const { topology, stores } = /** @type {typeof topologies.sums} */ (topologies[configuration.topology])(
  configuration.topics,
  configuration.name,
);

/** @type {{plan: Plan, passesLeft: number}[]} */
const plans = [];
/** @type {(() => void)[]} */
const held = [];
let flushedTask = '';

/** @param {string} event @param {object} [fields] */
function report(event, fields = {}) {
  process.stdout.write(
    `${JSON.stringify({ event, atMs: Date.now(), ...fields }, (_key, value) => (typeof value === 'bigint' ? String(value) : value))}\n`,
  );
}

/** @param {Error & {code?: string} | undefined} error */
const shown = (error) => (error === undefined ? undefined : { code: error.code, message: error.message });

/** @param {Plan} plan */
function add(plan) {
  plans.push({ plan, passesLeft: plan.passes });
}

function killed() {
  process.kill(process.pid, 'SIGKILL');
}

/**
 * @param {string} point
 * @param {number} epoch
 * @returns {Promise<void> | undefined}
 */
function commitPoint(point, epoch) {
  report('point', { point, epoch });
  // The hook of a flush is followed at once by this point, which knows the epoch.
  if (point === 'afterFlush') report('flushed', { task: flushedTask, epoch });
  const due = plans.find((each) => each.plan.point === point && --each.passesLeft === 0);
  if (due === undefined) return undefined;
  plans.splice(plans.indexOf(due), 1);
  report('fired', { action: due.plan.action, point, epoch });
  if (due.plan.action === 'killSoon') {
    setImmediate(killed);
    return undefined;
  }
  if (due.plan.action === 'kill') killed();
  return new Promise((resolve) => held.push(() => resolve(undefined)));
}

/** @param {string} level */
const logging = (level) => (/** @type {string} */ message) => report('log', { level, message });
const logger = { debug: logging('debug'), info: logging('info'), warn: logging('warn'), error: logging('error') };

configuration.plans?.forEach(add);
const worker = new StreamsWorker(
  {
    topology,
    broker: createKafkaBroker({ ...configuration.client, brokers: configuration.brokers, logger }),
    storeEngine: new LevelDbEngine(),
    logger,
    hooks: {
      workerPhase: (phase, reason) => report('phase', { phase, reason: shown(reason) }),
      taskPhase: (task, phase) => report('task', { task, phase }),
      committed: (commit) => report('committed', { ...commit, counters: worker.health().counters }),
      aborted: (reason) => report('aborted', { reason: shown(reason) }),
      producerReplaced: (reason) => report('producerReplaced', { reason: shown(reason) }),
      assigned: (partitions) => report('assigned', { partitions }),
      revoked: (partitions, lost) => report('revoked', { partitions, lost }),
      restored: (task, store, records, durationMs) => report('restored', { task, store, records, durationMs }),
      rebuilt: (task, store, reason) => report('rebuilt', { task, store, reason }),
      flushed: (task) => {
        flushedTask = task;
      },
      recordFailed: (place, error, outcome) => report('recordFailed', { place, error: shown(error), outcome }),
      commitPoint: /** @type {NonNullable<import('@tally/streams').Hooks['commitPoint']>} */ (commitPoint),
    },
  },
  configuration.options,
);

/** @type {Readonly<Record<string, (command: any) => unknown>>} */
const commands = {
  plan: (/** @type {Plan} */ plan) => add(plan),
  letGo() {
    for (const go of held.splice(0)) go();
  },
  health: () => ({ ...worker.health(), error: shown(worker.health().error) }),
  /** All entries that this instance owns. */
  async queryAll({ store }) {
    const entries = [];
    const definition = stores[store];
    if (definition === undefined) throw new Error(`There is no store '${store}'.`);
    const queryable = worker.query(definition);
    const before = queryable.partitions();
    for await (const [key, value] of queryable.all()) entries.push([key, String(value)]);
    // A task that was opened while the others were listed is not among the entries.
    const after = new Set(queryable.partitions());
    return { entries, partitions: before.filter((partition) => after.has(partition)) };
  },
  async stop() {
    await worker.stop();
    process.exitCode = 0;
    setImmediate(() => process.exit());
  },
};

/** @param {string} line */
async function obey(line) {
  const { id, command, ...rest } = JSON.parse(line);
  try {
    report('answer', { id, value: await commands[command]?.(rest) });
  } catch (error) {
    report('answer', { id, error: shown(/** @type {Error} */ (error)) });
  }
}

const input = createInterface({ input: process.stdin });
input.on('line', (line) => void obey(line));
input.on('close', () => process.exit(3));

worker.finished.catch((/** @type {Error} */ error) => {
  report('failed', { reason: shown(error) });
  process.exit(1);
});
worker.start().catch(() => {});
