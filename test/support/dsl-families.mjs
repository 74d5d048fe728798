// @ts-check
/**
 * One small topology for each family of the DSL, all of them in one application: what they make of the same records in memory and on a
 * cluster, with a worker killed in between, is compared.
 *
 * A record is [key, value, time in milliseconds]. What is in `before` is processed before anything in `then`. Outputs have texts as keys and values.
 */
import {
  hopping,
  int64,
  keyValueStore,
  nullable,
  session,
  sessionStore,
  sliding,
  StreamsBuilder,
  string,
  topic,
  tumbling,
  versionedStore,
  windowStore,
} from '@tally/streams';

/**
 * @typedef {readonly [key: string, value: string | null, timestampMs: number]} FamilyRecord
 * @typedef {Readonly<Record<string, readonly FamilyRecord[]>>} Records by role of the topic
 * @typedef {import('@tally/streams').Topic<string, string | null>} Output
 *
 * @typedef {object} Family
 * @property {Records} before
 * @property {Records} then
 * @property {'sequence' | 'set' | 'last'} compare what has to be alike for each key: `set` where the order in which two topics are read decides
 *   the order, `last` where it decides what comes in between
 * @property {(streams: StreamsBuilder, topics: FamilyTopics, output: Output) => void} build
 *
 * @typedef {object} FamilyTopics
 * @property {(role: string) => import('@tally/streams').Topic<string, string>} stream
 * @property {(role: string) => import('@tally/streams').Topic<string, string | null>} table
 */

const keysPerFamily = 24;
const recordsPerKey = 50;
const text = string();
const texts = { key: text, value: text };
const sums = { key: text, value: int64() };

/** A generator of numbers below 1 that depends on its seed alone. @param {number} seed */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/**
 * Records of all keys in turn, a few milliseconds apart, now and then late.
 *
 * @param {number} seed
 * @param {{perKey?: number, stepMs?: number, lateMs?: number, startMs?: number}} [how]
 * @returns {FamilyRecord[]}
 */
function payments(seed, { perKey = recordsPerKey, stepMs = 40, lateMs = 0, startMs = 1_000_000 } = {}) {
  const next = numbers(seed);
  return Array.from({ length: perKey * keysPerFamily }, (_, index) => {
    const late = next() < 0.2 ? Math.floor(next() * lateMs) : 0;
    return [`key-${Math.floor(next() * keysPerFamily)}`, String(1 + Math.floor(next() * 9)), startMs + index * stepMs - late];
  });
}

/** One record of each key. @param {(key: number) => string | null} valueOf @param {number} timestampMs @returns {FamilyRecord[]} */
const rows = (valueOf, timestampMs) => Array.from({ length: keysPerFamily }, (_, key) => [`key-${key}`, valueOf(key), timestampMs]);

const add = (/** @type {bigint} */ sum, /** @type {string} */ value) => sum + BigInt(value);
const initial = () => 0n;
const named = (/** @type {import('@tally/streams').Windowed<string>} */ { key, startMs, endMs }) => `${key} ${startMs}-${endMs}`;

/** @param {import('@tally/streams').KTable<import('@tally/streams').Windowed<string>, bigint>} table @param {Output} output */
function windowsTo(table, output) {
  table
    .toStream()
    .mapRecord((value, window) => [named(window), value === null ? null : String(value)], { key: text, value: nullable(text) })
    .to(output);
}

/** @param {import('@tally/streams').KTable<string, bigint>} table @param {Output} output */
function sumsTo(table, output) {
  table
    .toStream()
    .map((value) => (value === null ? null : String(value)), { value: nullable(text) })
    .to(output);
}

const longMs = 10_000_000;

/** @type {Readonly<Record<string, Family>>} */
export const families = {
  stateless: {
    before: {},
    then: { input: payments(1) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const { small, rest } = streams
        .stream(stream('input'))
        .flatMap((value) => [`${value}a`, `${value}b`])
        .split({ small: (value) => value < '5' });
      small
        .map((value) => `small ${value}`)
        .merge(rest.filter((value) => value.endsWith('a')).map((value) => `large ${value}`))
        .to(output);
    },
  },
  aggregate: {
    before: {},
    then: { input: payments(2) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const table = streams.stream(stream('input')).groupByKey().aggregate(keyValueStore('aggregate-sums', sums), { initial, add });
      sumsTo(table, output);
    },
  },
  // All records of a new key come from one partition, so their order is known.
  repartition: {
    before: {},
    then: { input: payments(3) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const grouped = streams.stream(stream('input')).groupBy((_value, key) => key.toUpperCase(), { key: text });
      sumsTo(grouped.count(keyValueStore('repartition-counts', sums)), output);
    },
  },
  tables: {
    before: { input: rows((key) => String(key), 1_000) },
    then: { input: payments(4) },
    compare: 'last',
    build(streams, { table }, output) {
      const groups = streams
        .table(table('input'), keyValueStore('tables-rows', texts))
        .filter((value) => value !== '7')
        .groupBy((value, key) => [key.slice(0, 5), value], { key: text, value: text });
      const subtract = (/** @type {bigint} */ sum, /** @type {string} */ value) => sum - BigInt(value);
      sumsTo(groups.aggregate(keyValueStore('tables-sums', sums), { initial, add, subtract }), output);
    },
  },
  tumbling: {
    before: {},
    then: { input: payments(5, { lateMs: 4_000 }) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const store = windowStore('tumbling-sums', { ...sums, retentionMs: 60_000 });
      const windowed = streams
        .stream(stream('input'))
        .groupByKey()
        .windowedBy(tumbling({ sizeMs: 2_000, graceMs: 1_000 }));
      windowsTo(windowed.aggregate(store, { initial, add }), output);
    },
  },
  hopping: {
    before: {},
    then: { input: payments(6, { lateMs: 4_000 }) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const store = windowStore('hopping-sums', { ...sums, retentionMs: 60_000 });
      const windowed = streams
        .stream(stream('input'))
        .groupByKey()
        .windowedBy(hopping({ sizeMs: 3_000, advanceMs: 1_000, graceMs: 1_000 }));
      windowsTo(windowed.aggregate(store, { initial, add }), output);
    },
  },
  sliding: {
    before: {},
    then: { input: payments(7, { lateMs: 2_000 }) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const store = windowStore('sliding-sums', { ...sums, retentionMs: 60_000 });
      const windowed = streams
        .stream(stream('input'))
        .groupByKey()
        .windowedBy(sliding({ differenceMs: 1_500, graceMs: 1_000 }));
      windowsTo(windowed.aggregate(store, { initial, add }), output);
    },
  },
  session: {
    before: {},
    then: { input: payments(8, { lateMs: 3_000 }) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const store = sessionStore('session-sums', { ...sums, retentionMs: 60_000 });
      const windowed = streams
        .stream(stream('input'))
        .groupByKey()
        .windowedBy(session({ gapMs: 900, graceMs: 1_000 }));
      windowsTo(windowed.aggregate(store, { initial, add, merge: (one, other) => one + other }), output);
    },
  },
  onClose: {
    before: {},
    then: { input: payments(9, { lateMs: 2_000 }) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const store = windowStore('on-close-sums', { ...sums, retentionMs: 60_000 });
      const windowed = streams
        .stream(stream('input'))
        .groupByKey()
        .windowedBy(tumbling({ sizeMs: 2_000, graceMs: 1_000 }));
      windowsTo(windowed.aggregate(store, { initial, add }, { emit: 'onClose' }), output);
    },
  },
  suppress: {
    before: {},
    then: { input: payments(10, { lateMs: 2_000 }) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const store = windowStore('suppress-sums', { ...sums, retentionMs: 60_000 });
      const windowed = streams
        .stream(stream('input'))
        .groupByKey()
        .windowedBy(tumbling({ sizeMs: 2_000, graceMs: 1_000 }));
      windowsTo(windowed.aggregate(store, { initial, add }).suppress({ until: 'windowCloses', name: 'suppress' }), output);
    },
  },
  cogroup: {
    before: { refunds: payments(11) },
    then: { payments: payments(12) },
    compare: 'sequence',
    build(streams, { stream }, output) {
      const grouped = { paid: streams.stream(stream('payments')).groupByKey(), refunded: streams.stream(stream('refunds')).groupByKey() };
      const refund = (/** @type {bigint} */ sum, /** @type {string} */ value) => sum - BigInt(value);
      const table = streams
        .cogroup(grouped)
        .aggregate(keyValueStore('cogroup-sums', sums), { initial, add: { paid: add, refunded: refund } });
      sumsTo(table, output);
    },
  },
  streamJoin: {
    before: { right: payments(13, { perKey: 3, stepMs: 600 }) },
    then: { left: payments(14) },
    compare: 'set',
    build(streams, { stream }, output) {
      const window = { beforeMs: 2_000, afterMs: 2_000, graceMs: longMs, name: 'stream-join' };
      streams
        .stream(stream('left'))
        .join(streams.stream(stream('right')), (left, right) => `${left}|${right}`, window)
        .to(output);
    },
  },
  streamTable: {
    before: { prices: rows((key) => (key % 3 === 0 ? null : `price ${key}`), 1_000) },
    then: { orders: payments(15) },
    compare: 'sequence',
    build(streams, { stream, table }, output) {
      const prices = streams.table(table('prices'), keyValueStore('stream-table-prices', texts));
      streams
        .stream(stream('orders'))
        .leftJoin(prices, (order, price) => `${order} ${price ?? 'for nothing'}`, { name: 'stream-table' })
        .to(output);
    },
  },
  versioned: {
    before: { prices: [...rows((key) => `old ${key}`, 1_000), ...rows((key) => `new ${key}`, 1_020_000)] },
    then: { orders: payments(16) },
    compare: 'sequence',
    build(streams, { stream, table }, output) {
      const store = versionedStore('versioned-prices', { ...texts, historyRetentionMs: longMs });
      const prices = streams.table(table('prices'), store);
      streams
        .stream(stream('orders'))
        .join(prices, (order, price) => `${order} ${price}`, { name: 'versioned', graceMs: 500 })
        .to(output);
    },
  },
  globalTable: {
    before: { names: rows((key) => `name ${key}`, 1_000) },
    then: { orders: payments(17) },
    compare: 'sequence',
    build(streams, { stream, table }, output) {
      const names = streams.globalTable(table('names'), keyValueStore('global-names', texts));
      streams
        .stream(stream('orders'))
        .joinGlobal(names, { key: (value) => `key-${value}`, join: (order, name) => `${order} ${name}` })
        .to(output);
    },
  },
  tableJoin: {
    before: { left: rows((key) => (key % 4 === 0 ? null : `left ${key}`), 1_000) },
    then: { right: payments(18) },
    compare: 'sequence',
    build(streams, { table }, output) {
      const left = streams.table(table('left'), keyValueStore('table-join-left', texts));
      const right = streams.table(table('right'), keyValueStore('table-join-right', texts));
      left
        .outerJoin(right, (one, other) => `${one}|${other}`, { name: 'table-join' })
        .toStream()
        .to(output);
    },
  },
  // An order refers to a customer who is another task's, and both change meanwhile.
  foreignKey: {
    before: { customers: rows((key) => `customer ${key}`, 1_000) },
    then: { orders: payments(19), customers: rows((key) => (key % 4 === 0 ? null : `new customer ${key}`), 1_020_000) },
    compare: 'last',
    build(streams, { table }, output) {
      const orders = streams.table(table('orders'), keyValueStore('foreign-key-orders', texts));
      const customers = streams.table(table('customers'), keyValueStore('foreign-key-customers', texts));
      orders
        .leftJoinOn(customers, {
          foreignKey: (order) => (order === '9' ? null : `key-${order}`),
          join: (order, customer) => `${order} for ${customer ?? 'nobody'}`,
          name: 'foreign-key',
        })
        .toStream()
        .to(output);
    },
  },
};

/** @param {string} family @param {string} role */
export const roleOf = (family, role) => `${family}-${role}`;

/** All families, as one application. @param {Readonly<Record<string, string>>} names of topics, by family and role */
export function familyTopology(names) {
  const streams = new StreamsBuilder({ name: 'families' });
  for (const [family, { build }] of Object.entries(families)) {
    const name = (/** @type {string} */ role) => names[roleOf(family, role)] ?? '';
    const stream = (/** @type {string} */ role) => topic(name(role), texts);
    const table = (/** @type {string} */ role) => topic(name(role), { key: text, value: nullable(text) });
    build(streams, { stream, table }, table('output'));
  }
  return streams.build();
}

/** For the worker processes. */
export const topologies = {
  /** @param {Readonly<Record<string, string>>} names */
  families: (names) => ({ topology: familyTopology(names), stores: {} }),
};
