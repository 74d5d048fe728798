// @ts-check
/**
 * Pipes the ledger's own load (copies and malformed payments included) through the whole ledger service under the test driver, and checks its
 * balances against the demo's independent model. Words: `payments=N accounts=N seed=N`. Prints one line, the figures as JSON.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Test } from '@nestjs/testing';
import { connectStreams, workerFactoryToken } from '@tally/nestjs';
import { int64, keyValueStore, string, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { root } from '../scripts/support/paths.mjs';
import { wordReader } from './service-arguments.mjs';

/** Piped at a time; what comes out is read in between. */
const recordsAtOnce = 2_000;
/** Rounds before the clock counts: the code is compiled by then. */
const warmUpRounds = 30;
const windowMs = 3_600_000;
/** Of stream time, between two payments. */
const stepMs = 1;

/** @typedef {{ key: string, value: string, timestampMs: number }} LoadRecord */

/** @param {string} file built, below dist/apps */
const built = (file) => import(pathToFileURL(join(root, 'dist', 'apps', file)).href);
const { LedgerModule } = await built('ledger/ledger.module.js');
const { generateLoad } = await built('ledger-tools/load/payments.js');
const { LedgerModel } = await built('ledger-tools/demo/model.js');

const payments = topic('payments', { key: string(), value: string() });
const balances = keyValueStore('balances', { key: string(), value: int64() });

const driver = new TopologyTestDriver();
const module = await Test.createTestingModule({ imports: [LedgerModule] })
  .overrideProvider(workerFactoryToken)
  .useValue(driver.createWorker)
  .compile();
const app = module.createNestApplication({ logger: false });
connectStreams(app);
await app.init();
await app.startAllMicroservices();

const read = wordReader(process.argv.slice(2));
const [wanted, accounts, seed] = ['payments', 'accounts', 'seed'].map((name) => Number(read(name)));
let [rounds, records, elapsedMs, cpuMicros] = [0, 0, 0, 0];
for (const load of loads()) {
  const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
  await driver.input(payments).pipeAll(load);
  const { user, system } = process.cpuUsage(cpu);
  // A short run does not get beyond its warming up: then it counts.
  if (rounds++ === warmUpRounds) [records, elapsedMs, cpuMicros] = [0, 0, 0];
  elapsedMs += performance.now() - startedMs;
  cpuMicros += user + system;
  records += load.length;
  driver.readEmitted();
}
await checkBalances();
await app.close();
console.log(JSON.stringify({ recordsPerSecond: (records * 1_000) / elapsedMs, cpuSecondsPerMillion: cpuMicros / records }));

/** The whole load in rounds, each made when it is its turn: the same at each call. */
function* loads() {
  /** @type {LoadRecord[]} */
  let round = [];
  for (const { key, value, timestampMs } of generateLoad({ payments: wanted, accounts, seed, startMs: 1, stepMs, windowMs })) {
    round.push({ key, value, timestampMs });
    if (round.length < recordsAtOnce) continue;
    yield round;
    round = [];
  }
  if (round.length > 0) yield round;
}

async function checkBalances() {
  const model = new LedgerModel(windowMs);
  let offset = 0;
  for (const round of loads()) {
    for (const { key, value, timestampMs } of round)
      model.judge({ topic: 'payments', partition: 0, offset: offset++, timestampMs, key: Buffer.from(key), value: Buffer.from(value) });
  }
  /** @type {ReadonlyMap<string, bigint>} */
  const expected = model.balances;
  const actual = await driver.store(balances).entries();
  const wrong = actual.filter(([account, balance]) => expected.get(account) !== balance);
  if (wrong.length > 0 || actual.length !== expected.size) {
    throw new Error(`${wrong.length} of ${actual.length} balances are not those of the model, which has ${expected.size}.`);
  }
}
