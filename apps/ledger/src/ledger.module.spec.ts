/** The whole service, with its guard, its schema and its error policies, without a broker. */
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { connectStreams, workerFactoryToken } from '@tally/nestjs';
import { deadLetterHeaders, type Headers, nullable, bytes, topic } from '@tally/streams';
import { TopologyTestDriver } from '@tally/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { BalancesController } from './balances.controller.js';
import { LedgerModule } from './ledger.module.js';
import { LedgerService, type Outcome } from './ledger.service.js';
import { balances, balanceUpdates, malformedPayments, payments, postings, rejections, seenEvents } from './ledger.topics.js';
import type { Payment } from './payment.js';
import { readSettings, SETTINGS } from './settings.js';

const malformed = topic(malformedPayments, { key: nullable(bytes()), value: nullable(bytes()) });
const deposit: Payment = { eventId: 'e1', account: 'anna', counterparty: 'shop', kind: 'deposit', amount: 500, currency: 'EUR' };
const running: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

async function start(options: { readonly partitions?: number; readonly service?: LedgerService } = {}) {
  const { partitions = 1, service } = options;
  const driver = new TopologyTestDriver({ partitions });
  const builder = Test.createTestingModule({ imports: [LedgerModule] })
    .overrideProvider(workerFactoryToken)
    .useValue(driver.createWorker)
    .overrideProvider(SETTINGS)
    .useValue(readSettings({ DEDUPLICATION_WINDOW_MS: '60000' }));
  if (service !== undefined) builder.overrideProvider(LedgerService).useValue(service);
  const app = (await builder.compile()).createNestApplication({ logger: false });
  running.push(app);
  connectStreams(app);
  await app.init();
  await app.startAllMicroservices();
  return { driver, app };
}

function header(headers: Headers, name: string): string | undefined {
  const found = headers.find((each) => each.name === name);
  return found === undefined ? undefined : Buffer.from(found.value).toString();
}

describe('the ledger', () => {
  it('turns a payment into a balance and two postings, and answers for the account', async () => {
    const { driver, app } = await start();
    await driver.input(payments).pipe('anna', deposit, { timestampMs: 1_000 });
    expect(driver.output(balanceUpdates).readAll()).toEqual([{ key: 'anna', value: 500n, timestampMs: 1_000, headers: [], partition: 0 }]);
    expect(driver.output(postings).readAll()).toMatchObject([
      { key: 'anna', value: { eventId: 'e1', account: 'anna', amount: 500 } },
      { key: 'shop', value: { eventId: 'e1', account: 'shop', amount: -500 } },
    ]);
    expect(await app.get(BalancesController).one('anna')).toEqual({ account: 'anna', balance: '500' });
  });

  it('counts a copy once, forgets event ids after the window, and refuses an overdraft', async () => {
    const { driver } = await start({ partitions: 3 });
    const input = driver.input(payments);
    await input.pipe('anna', deposit, { timestampMs: 0 });
    await input.pipe('anna', deposit, { timestampMs: 60_000 });
    expect(await driver.store(balances).get('anna')).toBe(500n);
    await input.pipe('anna', { ...deposit, eventId: 'e2', kind: 'withdrawal', amount: 501 }, { timestampMs: 60_000 });
    expect(driver.output(rejections).readAll()).toMatchObject([{ key: 'anna', value: { reason: 'overdraft', balance: '500' } }]);
    expect(await driver.store(seenEvents).entries()).toHaveLength(2);
    await input.pipe('anna', { ...deposit, eventId: 'e3' }, { timestampMs: 600_000 });
    expect((await driver.store(seenEvents).entries()).map(([key]) => key)).toEqual(['000000000010/anna/e3']);
  });

  it('forgets as many event ids as there are, also when they come in bursts', async () => {
    const { driver } = await start();
    const burst = 25_000;
    for (const startMs of [0, 600_000, 1_200_000]) {
      const records = Array.from({ length: burst }, (_each, index) => ({
        key: 'anna',
        value: { ...deposit, eventId: `e${startMs}-${index}` },
        timestampMs: startMs,
      }));
      await driver.input(payments).pipeAll(records);
    }
    expect(await driver.store(seenEvents).entries()).toHaveLength(burst);
  });

  it('puts aside what is no payment and what the guard refuses', async () => {
    const { driver } = await start();
    const input = driver.input(payments);
    await input.pipeBytes('anna', '{"eventId":');
    await input.pipeBytes('anna', JSON.stringify({ ...deposit, amount: -1 }));
    await input.pipe('bert', deposit);
    const aside = driver.output(malformed).readAll();
    expect(aside.map(({ key }) => Buffer.from(key ?? []).toString())).toEqual(['anna', 'anna', 'bert']);
    expect(aside.map(({ headers }) => header(headers, deadLetterHeaders.errorName))).toEqual([
      'CorruptDataError',
      'CorruptDataError',
      'ForbiddenException',
    ]);
    expect(driver.output(balanceUpdates).isEmpty).toBe(true);
  });

  it('stops at a fault of its own, and leaves nothing of it', async () => {
    @Injectable()
    class FaultyLedger extends LedgerService {
      override decide(payment: Payment, balance: bigint): Outcome {
        if (payment.eventId === 'e2') throw new Error('the rules are wrong');
        return super.decide(payment, balance);
      }
    }
    const { driver } = await start({ service: new FaultyLedger() });
    await driver.input(payments).pipe('anna', deposit);
    const failing = driver.input(payments).pipe('anna', { ...deposit, eventId: 'e2' });
    await expect(failing).rejects.toMatchObject({ code: 'RECORD_FAILED', cause: { message: 'the rules are wrong' } });
    await expect(driver.advance(1_000)).rejects.toThrow('the rules are wrong');
    expect(driver.readEmitted().map((record) => record.topic)).toEqual([balanceUpdates.name, postings.name, postings.name]);
  });
});
