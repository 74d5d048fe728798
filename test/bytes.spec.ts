/**
 * Records of every shape go through source, processor, store and sink as they are, byte for byte, or become a dead letter with a clear error.
 * Written and read by code of the tests' own, so that the client cannot hide what it changes.
 */
import { createHash } from 'node:crypto';
import { deadLetterHeaders } from '@tally/streams';
import { afterEach, describe, expect, it } from 'vitest';
import { differences } from './support/model.js';
import { RawTrial } from './support/raw-trial.js';
import type { RawRecord, StoredRecord } from './support/wire.js';

const partitions = 3;
const records = 50_000;
const bytes = (...values: readonly number[]): Buffer => Buffer.from(values);
const text = (value: string): Buffer => Buffer.from(value);
const nothing = Buffer.alloc(0);
const plainTimeMs = 1_700_000_000_000;

/** A key has its own series of records; the series of a key keep their order. */
const keys: readonly Buffer[] = [
  nothing,
  bytes(0),
  bytes(0, 0),
  bytes(255),
  bytes(128, 0, 1),
  text('plain'),
  text('zażółć 🎉'),
  bytes(0, 255, 0),
  Buffer.alloc(300, 7),
];
const values: readonly (Buffer | null)[] = [
  null,
  nothing,
  bytes(0),
  bytes(255, 0, 254),
  text('text'),
  text('{"not": "parsed"'),
  Buffer.alloc(2_000, 200),
];
const header = (name: string, value: Buffer) => ({ name, value });
const headers: readonly RawRecord['headers'][] = [
  [],
  [header('empty', nothing)],
  [header('binary', bytes(0, 1, 127, 128, 255))],
  [header('same', text('1')), header('other', text('x')), header('same', text('2')), header('same', text('1'))],
  [header('', text('without a name'))],
  [header('__proto__', text('p')), header('constructor', text('c')), header('ü', bytes(195))],
  Array.from({ length: 60 }, (_, index) => header(`h${index % 7}`, bytes(index))),
];
/** Not 0: see below. -1 is also what Kafka's own clients mean by "no timestamp". */
const timestamps: readonly number[] = [plainTimeMs, 1, -1, -2, -1_000_000_000_000, plainTimeMs + 1, 253_402_300_799];

const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

let trial: RawTrial;
afterEach(() => trial.end());

async function begin(name: string, outputPartitions = partitions): Promise<void> {
  trial = await RawTrial.begin(`copied-${name}`);
  const anyTime = { 'message.timestamp.after.max.ms': '9223372036854775807' };
  await trial.topic('input', partitions, anyTime);
  await trial.topic('output', outputPartitions);
  await trial.topic('letters', partitions);
}

const run = () => trial.start('copy', { errors: { production: { action: 'deadLetter', topic: trial.topics['letters'] ?? '' } } });
const headerText = (record: StoredRecord, name: string): string => String(record.headers.find((each) => each.name === name)?.value ?? '');

const shown = (value: Uint8Array | null): string => {
  if (value === null) return 'null';
  return value.length <= 64
    ? Buffer.from(value).toString('hex')
    : `${value.length} bytes ${createHash('sha256').update(value).digest('hex')}`;
};

/** Everything of a record in one line. */
function lineOf({ key, value, timestampMs, headers: own }: RawRecord): string {
  return [
    timestampMs,
    shown(key),
    shown(value),
    ...own.map(({ name, value: content }) => `${JSON.stringify(name)}=${shown(content)}`),
  ].join(' ');
}

/** The records by key, each key's in its order; those without a key, which have no order across partitions, sorted. */
function byKey(list: readonly RawRecord[]): ReadonlyMap<string, readonly string[]> {
  const series = new Map<string, string[]>();
  for (const record of list) {
    const name = shown(record.key);
    const known = series.get(name);
    if (known === undefined) series.set(name, [lineOf(record)]);
    else known.push(lineOf(record));
  }
  series.get('null')?.sort();
  return series;
}

describe('bytes', () => {
  it('come out as they went in', async () => {
    await begin('bytes');
    const all = Array.from({ length: records }, (_, index): RawRecord & { partition: number } => {
      const which = index % (keys.length + 1);
      const id = header('id', text(String(index).padStart(6, '0')));
      return {
        partition: which % partitions,
        key: which === keys.length ? null : pick(keys, which),
        value: pick(values, Math.floor(index / 3)),
        timestampMs: pick(timestamps, Math.floor(index / 5)),
        headers: [...pick(headers, Math.floor(index / 7)), id],
      };
    });
    for (let partition = 0; partition < partitions; partition++)
      await trial.wire.write(
        trial.topics['input'] ?? '',
        partition,
        all.filter((record) => record.partition === partition),
      );
    const process = run();
    await trial.settled(process);
    const input = await trial.read('input');
    expect(byKey(input)).toEqual(byKey(all));
    expect(differences('records', byKey(input), byKey(await trial.read('output')))).toEqual([]);
    expect(await trial.read('letters')).toEqual([]);

    const last = new Map<string, string>();
    for (const { key, value } of all) if (key !== null && value !== null) last.set(shown(key), shown(value));
    const stored = new Map<string, string>();
    // A data entry: its kind, then the key; nine bytes of version and timestamp before the value.
    for (const { key, value } of await trial.wire.read(trial.changelogOf('copies'))) {
      if (key?.[0] === 1) stored.set(shown(key.subarray(1)), shown(value?.subarray(9) ?? null));
    }
    expect(stored).toEqual(last);
    await process.stop();
  });

  it('of 900 kB come out as they went in, and what becomes too large is dead-lettered whole', async () => {
    await begin('large');
    const large = (index: number, size = 900_000): RawRecord => ({
      key: bytes(index),
      value: Buffer.alloc(size, index + 1),
      timestampMs: plainTimeMs + index,
      headers: [header('id', bytes(index))],
    });
    const twice = (index: number): RawRecord => ({ ...large(index), headers: [header('twice', nothing)] });
    const mixed = Array.from({ length: 24 }, (_, index) => (index % 8 === 3 ? twice(index) : large(index, index % 2 === 0 ? 900_000 : 10)));
    await trial.wire.write(trial.topics['input'] ?? '', 0, mixed);
    const process = run();
    await trial.settled(process);
    const tooLarge = mixed.filter(({ headers: [first] }) => first?.name === 'twice');
    expect((await trial.read('output')).map(lineOf).sort()).toEqual(
      mixed
        .filter((record) => !tooLarge.includes(record))
        .map(lineOf)
        .sort(),
    );
    const letters = await trial.read('letters');
    // A letter's own time is that of the writing; the record's is in a header.
    const originals = letters.map((letter) => ({
      ...letter,
      timestampMs: Number(headerText(letter, deadLetterHeaders.timestamp)),
      headers: letter.headers.slice(0, 1),
    }));
    expect(originals.map(lineOf)).toEqual(tooLarge.map(lineOf));
    for (const letter of letters)
      expect(headerText(letter, deadLetterHeaders.errorMessage)).toMatch(
        /A record of 1800\d\d\d bytes for topic '\S+' is larger than its bound of 1000000 bytes \(maxRecordBytes\)/,
      );
    await process.stop();
  });

  it('with times that cannot be written become dead letters that say so, and nothing stops', async () => {
    await begin('times');
    const futureMs = Date.now() + 30 * 86_400_000;
    const odd = (timestampMs: number): RawRecord => ({
      key: text('k'),
      value: text(String(timestampMs)),
      timestampMs,
      headers: [header('h', bytes(1))],
    });
    const times = [plainTimeMs, 0, plainTimeMs + 1, futureMs, plainTimeMs + 2, 0, futureMs + 1, plainTimeMs + 3];
    await trial.wire.write(trial.topics['input'] ?? '', 0, times.map(odd));
    const process = run();
    await trial.settled(process);
    const bad = (timestampMs: number): boolean => timestampMs === 0 || timestampMs >= futureMs;
    expect((await trial.read('output')).map(lineOf)).toEqual(times.filter((time) => !bad(time)).map((time) => lineOf(odd(time))));
    const letters = await trial.read('letters');
    expect(letters.map(({ value }) => String(value))).toEqual(times.filter(bad).map(String));
    for (const letter of letters) {
      const wasMs = Number(headerText(letter, deadLetterHeaders.timestamp));
      expect(String(letter.value)).toBe(String(wasMs));
      expect(shown(letter.headers[0]?.value ?? null)).toBe('01');
      expect(headerText(letter, deadLetterHeaders.errorMessage)).toMatch(
        wasMs === 0 ? /cannot write the timestamp 0, which a record for topic/ : /timestamp is too far from the broker's clock/i,
      );
      // Its own time is that of the writing: the record's would be refused here too.
      expect(Math.abs(letter.timestampMs - Date.now())).toBeLessThan(3_600_000);
    }
    await process.stop();
  });
});

describe('partitions of outputs', () => {
  /** Of Kafka's own tests (UtilsTest.testMurmur2) and, for the empty key, of its implementation. */
  const hashes: readonly (readonly [string, number])[] = [
    ['', 275646681],
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ];

  it.each([1, 3, 12])("are those that Kafka's Java clients choose, of %i", async (outputPartitions) => {
    await begin('murmur', outputPartitions);
    const sent = hashes.map(([key], index): RawRecord => ({
      key: text(key),
      value: text(key),
      timestampMs: plainTimeMs + index,
      headers: [],
    }));
    await trial.wire.write(trial.topics['input'] ?? '', 0, sent);
    const process = run();
    await trial.settled(process);
    const found = new Map((await trial.read('output')).map((record) => [String(record.key), record.partition]));
    expect(found).toEqual(new Map(hashes.map(([key, hash]) => [key, (hash & 0x7fffffff) % outputPartitions])));
    await process.stop();
  });
});
