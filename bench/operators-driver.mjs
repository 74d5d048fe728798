// @ts-check
/**
 * Pipes payments through one family of operators under the test driver. Words: `family=NAME payments=N accounts=N seed=N`. Prints one line, the
 * figures as JSON.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TopologyTestDriver } from '@tally/testing';
import { builtServices } from './build-services.mjs';
import { accountName, paymentSource } from './payments.mjs';
import { wordReader } from './service-arguments.mjs';

/** Piped at a time; what comes out is read in between. */
const recordsAtOnce = 20_000;
/** Payments of one millisecond of the records' time, about as on the broker. */
const paymentsPerMs = 400;
/** Rounds before the clock counts: the code is compiled by then. */
const warmUpRounds = 2;

/** @type {typeof import('./services/operator-topologies.js')} */
const { operatorTopology, paymentsOf } = await import(pathToFileURL(join(builtServices, 'operator-topologies.js')).href);

const read = wordReader(process.argv.slice(2));
const [wanted, accounts, seed] = ['payments', 'accounts', 'seed'].map((name) => Number(read(name)));
const driver = await TopologyTestDriver.start(operatorTopology(read('family'), 'payments', 'sums'));
const input = driver.input(paymentsOf('payments'));
const source = paymentSource(seed ?? 0, accounts ?? 0);
let [records, elapsedMs] = [0, 0];
for (let round = 0, sent = 0; sent < (wanted ?? 0); round++) {
  const load = Array.from({ length: Math.min(recordsAtOnce, (wanted ?? 0) - sent) }, () => {
    const { index, account, amount } = source.next();
    const name = accountName(account);
    const timestampMs = 1_700_000_000_000 + Math.floor(index / paymentsPerMs);
    return { key: name, value: { eventId: `payment-${index}`, account: name, amount, currency: 'EUR' }, timestampMs };
  });
  sent += load.length;
  const startedMs = performance.now();
  await input.pipeAll(load);
  if (round >= warmUpRounds || (wanted ?? 0) <= warmUpRounds * recordsAtOnce) {
    elapsedMs += performance.now() - startedMs;
    records += load.length;
  }
  driver.readEmitted();
}
await driver.close();
console.log(JSON.stringify({ recordsPerSecond: (records * 1_000) / elapsedMs }));
