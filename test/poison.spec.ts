/** Poison records of every kind under every error policy, on a real broker: the culprit alone meets its policy, everything else is exact. */
import { type ErrorPolicies, type ErrorPolicy, deadLetterHeaders } from '@tally/streams';
import { afterEach, describe, expect, it } from 'vitest';
import { adminCall } from './kafka-setting.js';
import { differences, sequencesOf } from './support/model.js';
import { type Order, Orders, unreadableAsks } from './support/orders.js';
import { RawTrial } from './support/raw-trial.js';
import type { StoredRecord } from './support/wire.js';
import type { WorkerProcess } from './support/workers.js';

const partitions = 4;
const load = 50_000;
/** For the tests with the whole load: each of their searches takes long on a machine that has other work. */
const timeout = 300_000;

const processingAsks = ['throw', 'reject'];
/** Refused while the record is in hand. */
const refusedInHand = ['tooLarge', 'null', 'unknown', 'header', 'notATime', 'partition', 'state', 'timeZero'];
/** Refused by the client or the broker, after the record has joined an epoch. */
const refusedLater = ['client', 'narrow', 'future', 'changelog'];
const productionAsks = [...refusedInHand, ...refusedLater];
const everyAsk = [...unreadableAsks, ...processingAsks, ...productionAsks];
const of = (asks: readonly string[]) => (order: Order) => order.ask !== undefined && asks.includes(order.ask);
const isFine = (order: Order): boolean => order.ask === undefined;

/** Larger than a batch of the client, smaller than what `narrow` and `changelog` ask for. */
const narrowBytes = 200_000;

let trial: RawTrial;
afterEach(() => trial.end());

async function begin(name: string, bounds: { readonly narrow?: number; readonly letters?: number } = {}): Promise<void> {
  trial = await RawTrial.begin(`poison-${name}`);
  for (const role of ['input', 'output']) await trial.topic(role, partitions);
  await trial.topic('letters', partitions, bounds.letters === undefined ? {} : { 'max.message.bytes': String(bounds.letters) });
  await trial.topic('narrow', partitions, { 'max.message.bytes': String(bounds.narrow ?? narrowBytes) });
  await trial.changelog('notes', partitions, { 'max.message.bytes': String(narrowBytes) });
}

const always = (policy: ErrorPolicy): ErrorPolicies => ({ deserialization: policy, processing: policy, production: policy });
const letterPolicy = (): ErrorPolicy => ({ action: 'deadLetter', topic: trial.topics['letters'] ?? '' });

const textOf = (headers: StoredRecord['headers'], name: string): string =>
  Buffer.from(headers.find((header) => header.name === name)?.value ?? []).toString('utf8');

/** Dead letters as they must be for the orders, each compared byte by byte. */
async function checkLetters(orders: readonly Order[]): Promise<void> {
  const inputs = new Map((await trial.read('input')).map((record) => [`${record.partition}@${record.offset}`, record]));
  const letters = await trial.read('letters');
  const origins = letters.map(
    ({ headers }) => `${textOf(headers, deadLetterHeaders.partition)}@${textOf(headers, deadLetterHeaders.offset)}`,
  );
  const wanted = [...inputs]
    .filter(([, input]) =>
      orders.some(({ record, partition }) => partition === input.partition && record.timestampMs === input.timestampMs),
    )
    .map(([place]) => place);
  expect([...origins].sort()).toEqual(wanted.sort());
  for (const [index, letter] of letters.entries()) {
    const input = inputs.get(origins[index] ?? '');
    expect([letter.key, letter.value]).toEqual([input?.key, input?.value]);
    expect(letter.headers.slice(0, 2)).toEqual(input?.headers);
    expect(textOf(letter.headers, deadLetterHeaders.topic)).toBe(trial.topics['input']);
    expect(textOf(letter.headers, deadLetterHeaders.timestamp)).toBe(String(input?.timestampMs));
    for (const name of [deadLetterHeaders.errorName, deadLetterHeaders.errorMessage, deadLetterHeaders.errorStack])
      expect(textOf(letter.headers, name)).not.toBe('');
  }
}

/** Each poison record failed as often as it must, and nothing else did. */
function checkFailures(process: WorkerProcess, orders: readonly Order[], outcome: string): void {
  const failed = new Set(
    process
      .of('recordFailed')
      .filter((event) => event.outcome === outcome)
      .map(({ place }) => `${place.partition}@${place.offset}`),
  );
  expect(failed.size).toBe(orders.length);
  expect(process.of('producerReplaced')).toEqual([]);
  expect(process.of('failed')).toEqual([]);
}

describe('poison records in a load', () => {
  it.each(['skip', 'deadLetter'] as const)('are dealt with by %s, and everything else is exact', { timeout }, async (action) => {
    await begin(action);
    const orders = new Orders(partitions);
    await trial.write(orders.spread(load, everyAsk, 1));
    const process = trial.start('poison', { errors: always(action === 'skip' ? { action } : letterPolicy()) });
    await trial.settled(process);
    expect(await trial.problems(orders, process, isFine)).toEqual([]);
    const poison = orders.all.filter(of(everyAsk));
    expect(poison).toHaveLength(everyAsk.length);
    checkFailures(process, poison, action === 'skip' ? 'skipped' : 'deadLettered');
    if (action === 'deadLetter') await checkLetters(poison);
    else expect(await trial.read('letters')).toEqual([]);
    // What is refused behind the handler's back is found by aborting and trying again; without that this test would show nothing.
    expect((await process.health()).counters.transactionsAborted).toBeGreaterThan(refusedLater.length);
    await process.stop();
  });

  it('are tried again as often as the policy says, and then dead-lettered', { timeout }, async () => {
    await begin('retry');
    const orders = new Orders(partitions);
    await trial.write(orders.spread(load, [...everyAsk, 'throwTwice'], 1));
    const process = trial.start('poison', {
      errors: always({ action: 'retry', retriesMax: 2, backoffMs: 20, then: letterPolicy() as { action: 'deadLetter'; topic: string } }),
    });
    await trial.settled(process);
    const good = (order: Order): boolean => isFine(order) || order.ask === 'throwTwice';
    expect(await trial.problems(orders, process, good)).toEqual([]);
    const poison = orders.all.filter((order) => !good(order));
    checkFailures(process, poison, 'deadLettered');
    await checkLetters(poison);
    const retries = new Map<string, number>();
    for (const { place, outcome } of process.of('recordFailed')) {
      const name = `${place.partition}@${place.offset}`;
      if (outcome === 'retried') retries.set(name, (retries.get(name) ?? 0) + 1);
    }
    expect(retries.size).toBe(everyAsk.length + 1);
    expect([...retries.values()].every((count) => count === 2)).toBe(true);
    await process.stop();
  });

  it('stop the worker with the reason, one kind after another, and nothing is lost', { timeout }, async () => {
    await begin('stop');
    const orders = new Orders(partitions);
    await trial.write(orders.spread(load, [...unreadableAsks.slice(0, 1), 'throw', 'tooLarge', 'narrow'], 1));
    const policies: [keyof ErrorPolicies, RegExp][] = [
      [
        'deserialization',
        /Record \S+-input-\d+ offset \d+ failed in its source .*cannot be read by 'json'.*errors\.deserialization is 'stop'/,
      ],
      ['processing', /Record \S+-input-\d+ offset \d+ failed in 'obey' .*asked to throw.*errors\.processing is 'stop'/],
      ['production', /Record \S+-input-\d+ offset \d+ failed in .*errors\.production is 'stop'/],
    ];
    for (const [category, message] of policies) {
      const process = trial.start('poison', { errors: { ...always({ action: 'skip' }), [category]: { action: 'stop' } } });
      const reason = await trial.stoppedByItself(process);
      expect(reason.code).toBe('RECORD_FAILED');
      expect(reason.message).toMatch(message);
    }
    const last = trial.start('poison', { errors: always({ action: 'skip' }) });
    await trial.settled(last);
    expect(await trial.problems(orders, last, isFine)).toEqual([]);
    await last.stop();
  });
});

describe('a store value that grows beyond its bound', () => {
  it.each([
    ['the application', 150_000, 2],
    ['the broker', 1_000_000, 3],
  ])('by that of %s, stays as it was, and what would have grown it further is dead-lettered', async (_whose, maxRecordBytes, fitting) => {
    await begin('grow');
    const orders = new Orders(partitions);
    // All in one partition, for they grow the same value.
    await trial.write(orders.add(10_000, ['grow'], (index) => (index > 0 && index % 2_000 === 0 ? 0 : undefined)));
    const process = trial.start('poison', { maxRecordBytes, errors: { production: letterPolicy() } });
    await trial.settled(process);
    const refused = orders.all.filter(of(['grow'])).slice(fitting);
    expect(refused).toHaveLength(4 - fitting);
    expect(await trial.problems(orders, process, (order) => !refused.includes(order))).toEqual([]);
    await checkLetters(refused);
    const values = (await trial.wire.read(trial.changelogOf('notes'))).filter(({ key }) => key?.[0] === 1);
    expect(values.at(-1)?.value).toHaveLength(9 + fitting * 60_000);
    await process.stop();
  });
});

describe('what the broker refuses for another reason than one record', () => {
  it('blames no record when batches of small ones are larger than the topic takes', async () => {
    await begin('batches', { narrow: 2_000 });
    const orders = new Orders(partitions);
    await trial.write(orders.add(3_000, ['small'], (index) => (index % 2 === 0 ? 0 : undefined)));
    const process = trial.start('poison', { errors: always({ action: 'stop' }) });
    await trial.settled(process);
    expect((await process.health()).counters.transactionsAborted).toBeGreaterThan(0);
    expect(process.of('recordFailed')).toEqual([]);
    expect(await trial.problems(orders, process, () => true)).toEqual([]);
    expect(await trial.read('narrow')).toHaveLength(1_500);
    await process.stop();
  });

  it('finds a punctuation, and drops what it did alone', async () => {
    await begin('punctual');
    const orders = new Orders(partitions);
    await trial.write(orders.spread(10_000, ['tick'], 2));
    const process = trial.start('punctual', { errors: always({ action: 'skip' }) });
    await trial.settled(process);
    await process.until('a transaction was aborted', () => process.of('aborted').length > 0);
    expect(await trial.problems(orders, process, () => true)).toEqual([]);
    expect(await trial.read('narrow')).toEqual([]);
    await process.stop();
  });

  it('stops when the topic was deleted, and goes on exactly when it is there again', { timeout }, async () => {
    await begin('deleted');
    const orders = new Orders(partitions);
    await trial.write(orders.add(5_000));
    const process = trial.start('poison', { errors: always({ action: 'stop' }) });
    await trial.settled(process);
    expect(await trial.problems(orders, process, () => true)).toEqual([]);
    const output = trial.topics['output'] ?? '';
    await adminCall((admin, callback) => admin.deleteTopic(output, callback));
    const ahead = orders.all.length;
    await trial.write(orders.add(400));
    const reason = await trial.stoppedByItself(process);
    expect(reason.message).toContain(output);
    expect(reason.message).toContain("errors.production is 'stop'");
    await trial.topic('output', partitions);
    const next = trial.start('poison', { errors: always({ action: 'stop' }) });
    await trial.settled(next);
    const { outputs, totals } = orders.expected(() => true);
    const late = new Map([...outputs].map(([key, sequence]) => [key, sequence.filter((each) => Number(each.split(':')[0]) > ahead)]));
    expect(differences('output', late, sequencesOf(await trial.read('output')))).toEqual([]);
    expect(differences('state', totals, new Map((await next.queryAll('totals')).entries))).toEqual([]);
    await next.stop();
  });
});

describe('dead letters that are refused themselves', () => {
  it('are written without what makes them too large, under the policy that wanted them', async () => {
    await begin('letters', { letters: 150_000 });
    const orders = new Orders(partitions);
    const made = orders.spread(5_000, ['throw', 'notJson'], 1);
    const large = made
      .filter(({ ask }) => ask !== undefined)
      .map((order) => {
        const padding = Buffer.alloc(250_000, 32);
        return { ...order, record: { ...order.record, value: Buffer.concat([padding, order.record.value ?? padding]) } };
      });
    await trial.write(made.map((order) => large.find(({ id }) => id === order.id) ?? order));
    const process = trial.start('poison', { errors: { deserialization: letterPolicy(), processing: letterPolicy() } });
    await trial.settled(process);
    expect(await trial.problems(orders, process, isFine)).toEqual([]);
    const letters = await trial.read('letters');
    expect(letters.map(({ value, headers }) => [value, textOf(headers, deadLetterHeaders.truncated)])).toEqual([
      [null, 'value'],
      [null, 'value'],
    ]);
    expect(letters.map(({ key, headers }) => `${String(key)} ${textOf(headers, deadLetterHeaders.timestamp)}`).sort()).toEqual(
      large.map(({ key, record }) => `${key} ${record.timestampMs}`).sort(),
    );
    await process.stop();
  });

  it('stop the worker when not even their headers are taken', async () => {
    await begin('headers', { letters: 200 });
    const orders = new Orders(partitions);
    await trial.write(orders.spread(2_000, ['throw'], 1));
    const process = trial.start('poison', { errors: { processing: letterPolicy() } });
    const reason = await trial.stoppedByItself(process);
    expect(reason.code).toBe('DEAD_LETTER_REFUSED');
    expect(reason.message).toMatch(/The dead letter of record \S+-input-\d+ offset \d+ was refused, even without its key and value/);
    const next = trial.start('poison', { errors: { processing: { action: 'skip' } } });
    await trial.settled(next);
    expect(await trial.problems(orders, next, isFine)).toEqual([]);
    await next.stop();
  });
});
