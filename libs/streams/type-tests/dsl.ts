/** What an application writes, and what the compiler must refuse. Compiled, never run. */
import { z } from 'zod';
import {
  decimal,
  double,
  int64,
  json,
  keyValueStore,
  nullable,
  string,
  topic,
  type Decimal,
  output,
  outputValue,
  type KGroupedStream,
  type KGroupedTable,
  type KStream,
  type KTable,
  type KeyOf,
  type KeyValueStore,
  type Serde,
  type StoreOf,
  type StreamsBuilder,
  type ValueOf,
} from '@tally/streams';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>(): void => undefined;

const Payment = z.object({ id: z.string(), account: z.string(), amount: z.bigint(), kind: z.enum(['card', 'refund']) });
type Payment = z.infer<typeof Payment>;
interface Posting {
  account: string;
  amount: bigint;
}
interface Account {
  owner: string;
}
interface Statistics {
  count: number;
  ids: string[];
}

const payments = topic('payments', { key: string(), value: json(Payment) });
const postings = topic('postings', { key: string(), value: json<Posting>() });
const balanceUpdates = topic('balances', { key: string(), value: nullable(int64()) });
const balances = keyValueStore('balances', { key: string(), value: int64() });
const statistics = keyValueStore('statistics', { key: string(), value: json<Statistics>() });
const seen = keyValueStore('seen', { key: string(), value: int64(), ttlMs: 3_600_000 });

is<Equal<ValueOf<typeof payments>, Payment>>();
is<Equal<KeyOf<typeof payments>, string>>();
is<Equal<StoreOf<typeof balances>, KeyValueStore<string, bigint>>>();
const price: Serde<Decimal> = decimal();

export function aggregations(streams: StreamsBuilder): void {
  const stream = streams.stream(payments);
  is<Equal<typeof stream, KStream<string, Payment>>>();
  const grouped = stream.groupByKey();
  is<Equal<typeof grouped, KGroupedStream<string, Payment>>>();

  const table = grouped.aggregate(balances, { initial: () => 0n, add: (sum, payment) => sum + payment.amount });
  is<Equal<typeof table, KTable<string, bigint>>>();
  // The aggregate's type comes from the store, so an empty array is no never[].
  grouped.aggregate(statistics, {
    initial: () => ({ count: 0, ids: [] }),
    add: (all, payment) => ({ count: all.count + 1, ids: [...all.ids, payment.id] }),
  });
  grouped.aggregate(balances, { initial: () => 0n, add: (sum, payment) => (payment.kind === 'refund' ? null : sum) });
  // @ts-expect-error the store holds bigint
  grouped.aggregate(balances, { initial: () => 0, add: (sum) => sum });
  // @ts-expect-error the store holds bigint
  grouped.aggregate(balances, { initial: () => 0n, add: (sum, payment) => payment.account });
  // @ts-expect-error the store has another key
  grouped.aggregate(keyValueStore('a', { key: double(), value: int64() }), { initial: () => 0n, add: (sum) => sum });

  is<Equal<ReturnType<typeof grouped.count>, KTable<string, bigint>>>();
  grouped.count(balances);
  grouped.count({ name: 'payments-by-account' });
  // @ts-expect-error counts are bigint
  grouped.count(statistics);

  const amounts = stream.map((payment) => payment.amount).groupByKey();
  const largest = amounts.reduce(balances, (left, right) => (left > right ? left : right));
  is<Equal<typeof largest, KTable<string, bigint>>>();
  // @ts-expect-error a reduced value is of the stream's type
  stream.groupByKey().reduce(balances, (left) => left);
}

export function tablesAsStreams(streams: StreamsBuilder): void {
  const table = streams
    .stream(payments)
    .groupByKey()
    .aggregate(balances, { initial: () => 0n, add: (sum, payment) => sum + payment.amount });
  const rows = table.toStream();
  is<Equal<typeof rows, KStream<string, bigint | null>>>();
  rows.to(balanceUpdates);
  // @ts-expect-error a table's stream carries removed rows; int64 without nullable() refuses null
  rows.to(topic('x', { key: string(), value: int64() }));
  const present = rows.filter((value) => value !== null);
  is<Equal<typeof present, KStream<string, bigint>>>();
  present.to(topic('x', { key: string(), value: int64() }));
}

export function nulls(streams: StreamsBuilder): void {
  const stream = streams.stream(topic('n', { key: nullable(string()), value: nullable(int64()) }));
  is<Equal<typeof stream, KStream<string | null, bigint | null>>>();
  // Grouping skips null keys and null values.
  const table = stream.groupByKey().aggregate(balances, { initial: () => 0n, add: (sum, value) => sum + value });
  is<Equal<typeof table, KTable<string, bigint>>>();
  // @ts-expect-error the value may be null
  stream.map((value) => value + 1n);
}

export function chains(streams: StreamsBuilder): void {
  const stream = streams.stream(payments);
  const typed = stream.map((payment) => ({ account: payment.account, amount: payment.amount }), { value: json<Posting>() });
  is<Equal<typeof typed, KStream<string, Posting>>>();
  typed.to(postings);
  stream.map((payment) => ({ account: payment.account, amount: payment.amount })).to(postings);
  // @ts-expect-error the serde of another type
  stream.map((payment) => payment.account, { value: int64() });
  // @ts-expect-error a topic of another type
  stream.map((payment) => payment.account).to(postings);

  const cards = stream.filter((payment): payment is Payment & { kind: 'card' } => payment.kind === 'card');
  is<Equal<typeof cards, KStream<string, Payment & { kind: 'card' }>>>();
  // A topic of a wider type takes narrower records.
  cards.to(payments);

  const pairs = stream.mapRecord((payment, key) => [payment.amount, key] as const, { key: int64(), value: string() });
  is<Equal<typeof pairs, KStream<bigint, string>>>();
  // @ts-expect-error the serde of another type
  stream.mapRecord((payment, key) => [payment.amount, key] as const, { key: string() });
  const letters = stream.flatMap((payment) => payment.id);
  is<Equal<typeof letters, KStream<string, string>>>();
  const byAmount = stream.selectKey((payment) => payment.amount, { key: int64() });
  is<Equal<typeof byAmount, KStream<bigint, Payment>>>();
  // @ts-expect-error the serde of another type
  stream.selectKey((payment) => payment.amount, { key: string() });
  // @ts-expect-error the serde of another type
  stream.groupByKey({ key: int64() });
  is<Equal<ReturnType<typeof stream.peek>, KStream<string, Payment>>>();

  streams.stream([payments, payments]);
  // @ts-expect-error topics of different types are no single stream
  streams.stream([payments, postings]);
  // @ts-expect-error a stream has at least one topic
  streams.stream([]);
}

export function branches(streams: StreamsBuilder): void {
  const { cards, large, rest } = streams.stream(payments).split({
    cards: (payment): payment is Payment & { kind: 'card' } => payment.kind === 'card',
    large: (payment) => payment.amount > 100n,
  });
  is<Equal<typeof cards, KStream<string, Payment & { kind: 'card' }>>>();
  is<Equal<typeof large, KStream<string, Payment>>>();
  is<Equal<typeof rest, KStream<string, Payment>>>();
  const kinds = streams.stream(payments).map((payment) => payment.kind);
  const refunds = kinds.filterNot((kind) => kind === 'card');
  is<Equal<typeof refunds, KStream<string, 'refund'>>>();
  const mixed = kinds.merge(streams.stream(postings));
  is<Equal<typeof mixed, KStream<string, 'card' | 'refund' | Posting>>>();
  // @ts-expect-error a predicate gives a boolean
  kinds.split({ all: () => 'yes' });
  const byKind = streams.stream(payments).groupBy((payment) => payment.kind, { key: json<'card' | 'refund'>() });
  is<Equal<typeof byKind, KGroupedStream<'card' | 'refund', Payment>>>();
  // @ts-expect-error the serde of another type
  streams.stream(payments).groupBy((payment) => payment.amount, { key: string() });
  streams.stream(payments).toRouted((payment) => (payment.kind === 'card' ? payments : payments));
  // @ts-expect-error a topic of another type
  streams.stream(payments).toRouted(() => balanceUpdates);
}

export function tables(streams: StreamsBuilder): void {
  const accounts = topic('accounts', { key: nullable(string()), value: nullable(json<Account>()) });
  const accountStore = keyValueStore('accounts', { key: string(), value: json<Account>() });
  const table = streams.table(accounts, accountStore);
  is<Equal<typeof table, KTable<string, Account>>>();
  // @ts-expect-error the store holds another type
  streams.table(accounts, balances);
  const owners = table.map((account) => account.owner, { store: keyValueStore('owners', { key: string(), value: string() }) });
  is<Equal<typeof owners, KTable<string, string>>>();
  // @ts-expect-error the store holds another type
  table.map((account) => account.owner, { store: balances });
  const named = table.filter((account): account is Account & { owner: 'me' } => account.owner === 'me');
  is<Equal<typeof named, KTable<string, Account & { owner: 'me' }>>>();
  const grouped = table.groupBy((account) => [account.owner, 1n], { key: string(), value: int64() });
  is<Equal<typeof grouped, KGroupedTable<string, bigint>>>();
  // @ts-expect-error the serde of another type
  table.groupBy((account) => [account.owner, account], { key: string(), value: int64() });
  grouped.aggregate(balances, { initial: () => 0n, add: (sum, one) => sum + one, subtract: (sum, one) => sum - one });
  // @ts-expect-error rows leave a group too
  grouped.aggregate(balances, { initial: () => 0n, add: (sum, one) => sum + one });
  const made = streams.stream(accounts).toTable();
  is<Equal<typeof made, KTable<string, Account>>>();
  const seenBefore = table.transformValues({
    stores: { seen },
    transform: (account, key, context) => (account === null ? null : (context.stores.seen.get(key) ?? 0n)),
  });
  is<Equal<typeof seenBefore, KTable<string, bigint>>>();
}

export function handlers(streams: StreamsBuilder): void {
  streams.stream(payments).process({
    stores: { seen, balances },
    outputs: { postings },
    process(record, context) {
      is<Equal<typeof record.value, Payment>>();
      is<Equal<typeof context.stores.balances, KeyValueStore<string, bigint>>>();
      if (context.stores.seen.get(record.value.id) !== undefined) return;
      context.stores.balances.put(record.key, 1n);
      context.send('postings', {
        key: record.key,
        value: { account: record.key, amount: record.value.amount },
        timestampMs: record.timestampMs,
      });
      // @ts-expect-error not a Posting
      context.send('postings', { key: record.key, value: 3 });
      // @ts-expect-error no such output
      context.send('payments', { key: record.key, value: record.value });
      // @ts-expect-error no such store
      void context.stores.statistics;
      // @ts-expect-error the store holds bigint
      context.stores.balances.put(record.key, 1);
    },
  });
  const forwarded = streams.stream(payments).process({
    forwards: output<bigint, string>(),
    process(record, context) {
      context.forward({ key: record.value.amount, value: record.key });
      // @ts-expect-error another type
      context.forward({ key: record.key, value: record.key });
    },
    punctuators: [
      { intervalMs: 1, type: 'wallClock', run: (timestampMs, context) => context.forward({ key: 1n, value: String(timestampMs) }) },
    ],
  });
  is<Equal<typeof forwarded, KStream<bigint, string>>>();
  const lengths = streams.stream(payments).processValues({
    forwards: outputValue<number>(),
    process: (record, context) => context.forward(record.value.id.length),
  });
  is<Equal<typeof lengths, KStream<string, number>>>();
  const ended = streams.stream(payments).process({
    process(record, context) {
      // @ts-expect-error nothing was declared
      context.forward({ key: record.key, value: record.value });
    },
  });
  is<Equal<typeof ended, KStream<never, never>>>();
  streams.stream(payments).process({
    async process(record) {
      await Promise.resolve(record.value.id);
    },
  });
}

// @ts-expect-error an old value becomes one of the store's type
keyValueStore('a', { key: string(), value: int64(), migrate: () => 'a' });
// @ts-expect-error a serde is needed
topic('a', { key: string() });
// @ts-expect-error bigint is no number
json(Payment).serialize({ id: 'a', account: 'b', amount: 1, kind: 'card' });
// @ts-expect-error a misspelt option
topic('a', { key: string(), value: price, partition: 3 });
