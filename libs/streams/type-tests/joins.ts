/** Joins as an application writes them, and what the compiler must refuse. Compiled, never run. */
import { int64, json, keyValueStore, nullable, string, topic, type KStream, type KTable, type StreamsBuilder } from '@tally/streams';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>(): void => undefined;

interface Account {
  owner: string;
}
interface Payment {
  amount: bigint;
}
interface Limited extends Account {
  limit: bigint;
}

const accounts = topic('accounts', { key: string(), value: nullable(json<Account>()) });
const limits = topic('limits', { key: string(), value: nullable(int64()) });
const byNumber = topic('numbers', { key: int64(), value: nullable(int64()) });
const payments = topic('payments', { key: string(), value: json<Payment>() });
const refunds = topic('refunds', { key: nullable(string()), value: nullable(int64()) });
const limited = keyValueStore('limited', { key: string(), value: json<Limited>() });

export function tables(streams: StreamsBuilder): void {
  const left = streams.table(accounts);
  const right = streams.table(limits);

  const inner = left.join(right, (account, limit) => ({ ...account, limit }));
  is<Equal<typeof inner, KTable<string, { limit: bigint; owner: string }>>>();
  const stored = left.join(right, (account, limit, key) => ({ ...account, limit: key === '' ? 0n : limit }), { store: limited });
  is<Equal<typeof stored, KTable<string, Limited>>>();
  const removed = left.join(right, (_account, limit) => (limit === 0n ? null : limit), { value: int64() });
  is<Equal<typeof removed, KTable<string, bigint>>>();
  const outer = left.outerJoin(right, (account, limit) => account?.owner ?? String(limit));
  is<Equal<typeof outer, KTable<string, string>>>();
  left.leftJoin(right, (account, limit) => `${account.owner} ${limit === null ? '' : limit + 1n}`);

  // @ts-expect-error the other table's rows may be missing
  left.leftJoin(right, (_account, limit) => limit + 1n);
  // @ts-expect-error rows of either table may be missing
  left.outerJoin(right, (account) => account.owner);
  // @ts-expect-error the tables have keys of different types
  left.join(streams.table(byNumber), (account) => account);
  // @ts-expect-error the store holds rows of another type
  left.join(right, (account) => account.owner, { store: limited });
  // @ts-expect-error the serde of another type
  left.join(right, (account) => account.owner, { value: int64() });
  // @ts-expect-error a table has no window
  left.join(right, (account) => account.owner, { beforeMs: 1, afterMs: 1, graceMs: 0 });
}

export function streamsWithTables(streams: StreamsBuilder): void {
  const stream = streams.stream(payments);
  const table = streams.table(accounts);

  const inner = stream.join(table, (payment, account, key) => ({ ...payment, owner: account.owner, key }));
  is<Equal<typeof inner, KStream<string, { owner: string; key: string; amount: bigint }>>>();
  const left = stream.leftJoin(table, (payment, account) => account?.owner ?? String(payment.amount), { value: string() });
  is<Equal<typeof left, KStream<string, string>>>();
  stream.join(table, (payment) => payment.amount, { graceMs: 1_000 });

  // Records without a key or a value do not get as far as the joiner.
  const nullables = streams.stream(refunds).join(table, (refund, account, key) => `${account.owner} ${refund + 1n} ${key.length}`);
  is<Equal<typeof nullables, KStream<string, string>>>();
  const keyless = streams.stream(refunds).leftJoin(table, (refund, _account, key) => `${refund + 1n} ${key ?? ''}`);
  is<Equal<typeof keyless, KStream<string | null, string>>>();

  // @ts-expect-error the table may have no row
  stream.leftJoin(table, (_payment, account) => account.owner);
  // @ts-expect-error of a left join the key may be null, where the stream's may
  streams.stream(refunds).leftJoin(table, (_refund, _account, key) => key.length);
  // @ts-expect-error stream and table have keys of different types
  stream.join(streams.table(byNumber), (payment) => payment.amount);
  // @ts-expect-error a table has no window
  stream.join(table, (payment) => payment.amount, { beforeMs: 1, afterMs: 1, graceMs: 0 });
  // @ts-expect-error there is no outer join with a table: its rows alone are no records
  stream.outerJoin(table, (payment) => payment, {});
  // @ts-expect-error the serde of another type
  stream.join(table, (payment) => payment.amount, { value: string() });
}

export function streamsWithStreams(streams: StreamsBuilder): void {
  const stream = streams.stream(payments);
  const other = streams.stream(refunds);
  const window = { beforeMs: 0, afterMs: 10, graceMs: 0 };

  const inner = stream.join(other, (payment, refund, key) => [payment.amount - refund, key] as const, window);
  is<Equal<typeof inner, KStream<string, readonly [bigint, string]>>>();
  const left = stream.leftJoin(other, (payment, refund) => payment.amount - (refund ?? 0n), { ...window, value: int64() });
  is<Equal<typeof left, KStream<string, bigint>>>();
  const outer = stream.outerJoin(other, (payment, refund) => payment?.amount ?? refund ?? 0n, window);
  is<Equal<typeof outer, KStream<string, bigint>>>();
  const keyless = other.outerJoin(stream, (refund, payment, key) => `${key ?? ''} ${refund ?? payment?.amount}`, window);
  is<Equal<typeof keyless, KStream<string | null, string>>>();
  stream.join(stream, (one, again) => one.amount + again.amount, window);

  // @ts-expect-error a join of two streams needs its window
  stream.join(other, (payment) => payment.amount);
  // @ts-expect-error the window has a grace period
  stream.join(other, (payment) => payment.amount, { beforeMs: 0, afterMs: 1 });
  // @ts-expect-error the other stream's record may be missing
  stream.leftJoin(other, (payment, refund) => payment.amount - refund, window);
  // @ts-expect-error records of either stream may be missing
  stream.outerJoin(other, (payment) => payment.amount, window);
  // @ts-expect-error the streams have keys of different types
  stream.join(streams.stream(byNumber), (payment) => payment.amount, window);
}

export function repartitions(streams: StreamsBuilder): void {
  const stream = streams.stream(refunds);
  is<Equal<ReturnType<typeof stream.repartition<false>>, KStream<string, bigint | null>>>();
  const all = stream.repartition({ keepsNullKeys: true });
  is<Equal<typeof all, KStream<string | null, bigint | null>>>();
  const keyed = stream.repartition({ name: 'keyed' });
  is<Equal<typeof keyed, KStream<string, bigint | null>>>();
}

export function byForeignKey(streams: StreamsBuilder): void {
  const left = streams.table(accounts);
  const right = streams.table(byNumber);

  const inner = left.joinOn(right, { foreignKey: (account) => BigInt(account.owner), join: (account, number) => ({ ...account, number }) });
  is<Equal<typeof inner, KTable<string, { number: bigint; owner: string }>>>();
  const joined = left.leftJoinOn(right, {
    foreignKey: (account, key) => (key === '' ? null : BigInt(account.owner)),
    join: (account, number, key) => `${key} ${account.owner} ${number ?? ''}`,
    value: string(),
    name: 'joined',
  });
  is<Equal<typeof joined, KTable<string, string>>>();
  left.joinOn(right, { foreignKey: () => 1n, join: (account, number) => ({ ...account, limit: number }), store: limited });

  // @ts-expect-error the foreign key is the other table's key
  left.joinOn(right, { foreignKey: (account) => account.owner, join: (account) => account });
  // @ts-expect-error the other table's row may be missing
  left.leftJoinOn(right, { foreignKey: () => 1n, join: (_account, number) => number + 1n });
  // @ts-expect-error the store holds rows of another type
  left.joinOn(right, { foreignKey: () => 1n, join: (account) => account.owner, store: limited });
}
