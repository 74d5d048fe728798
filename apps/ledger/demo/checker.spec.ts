import { describe, expect, it } from 'vitest';
import { LedgerChecker, type Proof } from './checker.js';
import type { RawRecord } from './model.js';

const windowMs = 1_000;

interface Outputs {
  readonly inputs: RawRecord[];
  readonly postings: RawRecord[];
  readonly balances: RawRecord[];
  readonly rejections: RawRecord[];
  readonly malformed: RawRecord[];
  readonly answers: [instance: string, account: string, balance: bigint][];
}

function record(topic: string, offset: number, key: string | null, value: Buffer | object | null, timestampMs = 0): RawRecord {
  const bytes = value === null || Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value));
  return { topic, partition: 0, offset, timestampMs, key: key === null ? null : Buffer.from(key), value: bytes };
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** Two accounts, a copy within the window, one after it, an overdraft and its copy, two malformed records: worked out by hand. */
function scenario(): Outputs {
  const pay = (eventId: string, account: string, kind: string, amount: number): object => ({
    eventId,
    account,
    kind,
    amount,
    currency: 'EUR',
    counterparty: 'shop',
  });
  const posting = (offset: number, eventId: string, account: string, amount: number): RawRecord =>
    record('postings', offset, account, { eventId, account, amount });
  return {
    inputs: [
      record('payments', 0, 'anna', pay('e1', 'anna', 'deposit', 500)),
      record('payments', 1, 'bert', pay('e2', 'bert', 'deposit', 70), 10),
      record('payments', 2, 'anna', pay('e3', 'anna', 'withdrawal', 200), 20),
      record('payments', 3, 'anna', pay('e1', 'anna', 'deposit', 500), 1_000),
      record('payments', 4, 'bert', pay('e4', 'bert', 'withdrawal', 71), 1_000),
      record('payments', 5, 'bert', pay('e4', 'bert', 'withdrawal', 71), 1_000),
      record('payments', 6, 'bert', Buffer.from('{'), 1_000),
      record('payments', 7, 'bert', pay('e5', 'anna', 'deposit', 1), 1_000),
      record('payments', 8, 'anna', pay('e1', 'anna', 'deposit', 500), 1_001),
    ],
    postings: [
      posting(0, 'e1', 'anna', 500),
      posting(1, 'e1', 'shop', -500),
      posting(2, 'e2', 'bert', 70),
      posting(3, 'e2', 'shop', -70),
      posting(4, 'e3', 'anna', -200),
      posting(5, 'e3', 'shop', 200),
      posting(6, 'e1', 'anna', 500),
      posting(7, 'e1', 'shop', -500),
    ],
    balances: [
      record('balances', 0, 'anna', int64(500n)),
      record('balances', 1, 'bert', int64(70n)),
      record('balances', 2, 'anna', int64(300n)),
      record('balances', 3, 'anna', int64(800n)),
    ],
    rejections: [record('rejected', 0, 'bert', { eventId: 'e4', account: 'bert', reason: 'overdraft' })],
    malformed: [record('malformed', 0, 'bert', Buffer.from('{')), record('malformed', 1, 'bert', pay('e5', 'anna', 'deposit', 1))],
    answers: [
      ['ledger-1', 'anna', 800n],
      ['ledger-2', 'bert', 70n],
    ],
  };
}

function prove(outputs: Outputs): Proof {
  const checker = new LedgerChecker(windowMs);
  outputs.inputs.forEach((input) => checker.addInput(input));
  outputs.postings.forEach((posting) => checker.addPosting(posting));
  outputs.balances.forEach((balance) => checker.addBalance(balance));
  outputs.rejections.forEach((rejection) => checker.addRejection(rejection));
  outputs.malformed.forEach((deadLetter) => checker.addMalformed(deadLetter));
  outputs.answers.forEach((answer) => checker.addAnswer(...answer));
  return checker.prove();
}

describe('LedgerChecker', () => {
  it('proves a faultless run', () => {
    expect(prove(scenario())).toEqual({
      expectedTotal: 870n,
      actualTotal: 870n,
      accounts: 2,
      mismatches: 0,
      examples: [],
      accepted: 4,
      rejected: 1,
      malformed: 2,
      duplicatesDropped: 2,
    });
  });

  it('knows where both copies of a dropped payment lie', () => {
    const checker = new LedgerChecker(windowMs);
    scenario().inputs.forEach((input) => checker.addInput(input));
    expect(checker.droppedCopies).toEqual([
      { partition: 0, firstOffset: 0, copyOffset: 3 },
      { partition: 0, firstOffset: 4, copyOffset: 5 },
    ]);
  });

  const corruptions: [name: string, corrupt: (outputs: Outputs) => void, example: string][] = [
    ['a lost posting', ({ postings }) => postings.splice(4, 1), 'posting lost: e3 anna -200'],
    [
      'a doubled posting',
      ({ postings }) => postings.push(record('postings', 8, 'bert', { eventId: 'e2', account: 'bert', amount: 70 })),
      'offset 8',
    ],
    [
      'a posting under another key',
      ({ postings }) => postings.splice(2, 1, record('postings', 2, 'anna', { eventId: 'e2', account: 'bert', amount: 70 })),
      'offset 2',
    ],
    [
      'a posting of another amount',
      ({ postings }) => postings.splice(3, 1, record('postings', 3, 'shop', { eventId: 'e2', account: 'shop', amount: -71 })),
      'offset 3',
    ],
    ['a posting that is no JSON', ({ postings }) => postings.splice(3, 1, record('postings', 3, 'shop', Buffer.from('?'))), 'offset 3'],
    ['a lost balance update', ({ balances }) => balances.splice(3, 1), 'balance update of anna lost: 800'],
    ['a doubled balance update', ({ balances }) => balances.splice(1, 0, record('balances', 9, 'bert', int64(70n))), 'must be absent'],
    ['balance updates in another order', ({ balances }) => balances.splice(2, 2, ...balances.slice(2).reverse()), 'is 800, must be 300'],
    ['a wrong balance update', ({ balances }) => balances.splice(0, 1, record('balances', 0, 'anna', int64(501n))), 'is 501, must be 500'],
    ['a lost rejection', ({ rejections }) => rejections.pop(), 'rejection lost: e4 bert overdraft'],
    ['a doubled rejection', ({ rejections }) => rejections.push(...rejections), 'rejection that must not be there'],
    ['a lost dead letter', ({ malformed }) => malformed.pop(), 'dead letter lost'],
    [
      'an altered dead letter',
      ({ malformed }) => malformed.splice(0, 1, record('malformed', 0, 'bert', Buffer.from('{ '))),
      'dead letter that must not',
    ],
    ['a wrong balance', ({ answers }) => answers.splice(0, 1, ['ledger-1', 'anna', 799n]), 'ledger-1 says 799 for anna, must be 800'],
    ['a missing account', ({ answers }) => answers.pop(), 'no instance answers for bert'],
    ['a foreign account', ({ answers }) => answers.push(['ledger-2', 'carl', 0n]), 'answers for carl, which has no payment'],
    ['an account on two instances', ({ answers }) => answers.push(['ledger-2', 'anna', 800n]), 'by ledger-1 and by ledger-2'],
  ];

  it.each(corruptions)('detects %s', (_, corrupt, example) => {
    const outputs = scenario();
    corrupt(outputs);
    const proof = prove(outputs);
    expect(proof.mismatches).toBeGreaterThan(0);
    expect(proof.examples.join('\n')).toContain(example);
  });

  it('counts every mismatch, also those that it does not describe', () => {
    const outputs = scenario();
    for (let time = 0; time < 100; time++)
      outputs.rejections.push(record('rejected', time + 1, 'bert', { eventId: 'e9', account: 'bert', reason: 'overdraft' }));
    const proof = prove(outputs);
    expect(proof.mismatches).toBe(100);
    expect(proof.examples).toHaveLength(20);
  });
});
