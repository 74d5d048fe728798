// @ts-check
/**
 * Simulates the whole ledger service, each history with its reference run, and looks at what it has booked. Words: `histories=N payments=N`.
 * Prints one line, the figures as JSON.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Test } from '@nestjs/testing';
import { connectStreams, workerFactoryToken } from '@tally/nestjs';
import { simulate, SimulatedService } from '@tally/testing';
import { root } from '../scripts/support/paths.mjs';
import { wordReader } from './service-arguments.mjs';

/** Histories before the clock counts: the code is compiled by then. */
const warmUpHistories = 30;
const accounts = 30;
const windowMs = 3_600_000;

/** @param {string} file built, below dist/apps */
const built = (file) => import(pathToFileURL(join(root, 'dist', 'apps', file)).href);
const { LedgerModule } = await built('ledger/ledger.module.js');
const { payments, postings } = await built('ledger/ledger.topics.js');
const { generateLoad } = await built('ledger-tools/load/payments.js');

const service = new SimulatedService();
const module = await Test.createTestingModule({ imports: [LedgerModule] })
  .overrideProvider(workerFactoryToken)
  .useValue(service.createWorker)
  .compile();
const app = module.createNestApplication({ logger: false });
connectStreams(app);
await app.init();
await app.startAllMicroservices();

const read = wordReader(process.argv.slice(2));
const [histories = 0, paymentsEach = 0] = ['histories', 'payments'].map((name) => Number(read(name)));

/** @type {import('@tally/testing').Workload} */
const workload = (load) => {
  const seed = load.random.below(1_000_000);
  for (const { key, value } of generateLoad({ payments: paymentsEach, accounts, seed, startMs: 1, stepMs: 50, windowMs })) {
    load.addBytes(payments, key, value);
  }
};

/**
 * @param {number} first
 * @param {number} count
 */
function run(first, count) {
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  return simulate(service, workload, { seeds, unordered: [postings], invariants: { 'all postings together are zero': booksAreEven } });
}

/** @param {import('@tally/testing').SimulationResult} result */
function booksAreEven(result) {
  const records = /** @type {readonly { value: { amount: number } }[]} */ (result.recordsOf(postings));
  const sum = records.reduce((total, { value }) => total + value.amount, 0);
  if (sum !== 0 || records.length === 0) throw new Error(`The ${records.length} postings add up to ${sum}.`);
}

await run(1, Math.min(warmUpHistories, histories));
const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
const report = await run(1_000, histories);
const elapsedMs = performance.now() - startedMs;
const { user, system } = process.cpuUsage(cpu);
await app.close();
if (report.crashes < histories) throw new Error(`${histories} histories had only ${report.crashes} crashes.`);
console.log(
  JSON.stringify({
    historiesPerSecond: (report.histories * 1_000) / elapsedMs,
    cpuMsPerHistory: (user + system) / 1_000 / report.histories,
    crashesPerHistory: report.crashes / report.histories,
  }),
);
