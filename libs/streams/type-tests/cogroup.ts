/** Cogroups: what an application writes, and what the compiler must refuse. Compiled, never run. */
import {
  type CogroupedKStream,
  double,
  int64,
  json,
  keyValueStore,
  type KTable,
  nullable,
  session,
  sessionStore,
  sliding,
  type StreamsBuilder,
  string,
  topic,
  tumbling,
  type Windowed,
  windowStore,
} from '@tally/streams';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>(): void => undefined;

interface Payment {
  readonly amount: bigint;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const fees = topic('fees', { key: string(), value: nullable(int64()) });
const balances = keyValueStore('balances', { key: string(), value: int64() });
const hourly = windowStore('hourly', { key: string(), value: int64(), retentionMs: 86_400_000 });
const visits = sessionStore('visits', { key: string(), value: int64(), retentionMs: 86_400_000 });

export function cogroups(streams: StreamsBuilder): void {
  const cogroup = streams.cogroup({ payments: streams.stream(payments).groupByKey(), fees: streams.stream(fees).groupByKey() });
  is<Equal<typeof cogroup, CogroupedKStream<string, { readonly payments: Payment; readonly fees: bigint | null }>>>();
  const table = cogroup.aggregate(balances, {
    initial: () => 0n,
    add: { payments: (sum, payment) => sum + payment.amount, fees: (sum, fee) => sum - fee },
  });
  is<Equal<typeof table, KTable<string, bigint>>>();
  // @ts-expect-error each stream needs a function
  cogroup.aggregate(balances, { initial: () => 0n, add: { payments: (sum, payment) => sum + payment.amount } });
  // @ts-expect-error the store holds bigint
  cogroup.aggregate(balances, { initial: () => 0n, add: { payments: () => 'x', fees: (sum) => sum } });
  const other = keyValueStore('other', { key: double(), value: int64() });
  // @ts-expect-error the store has another key
  cogroup.aggregate(other, { initial: () => 0n, add: { payments: (sum) => sum, fees: (sum) => sum } });

  const windowed = cogroup.windowedBy(tumbling({ sizeMs: 3_600_000, graceMs: 0 })).aggregate(hourly, {
    initial: () => 0n,
    // Null values come to windows, but not to sliding ones.
    add: { payments: (sum, payment) => sum + payment.amount, fees: (sum, fee) => sum - (fee ?? 0n) },
  });
  is<Equal<typeof windowed, KTable<Windowed<string>, bigint>>>();
  const lateFees = cogroup.windowedBy(tumbling({ sizeMs: 3_600_000, graceMs: 0 }));
  // @ts-expect-error the value may be null
  lateFees.aggregate(hourly, { initial: () => 0n, add: { payments: (sum) => sum, fees: (sum, fee) => sum - fee } });
  cogroup
    .windowedBy(sliding({ differenceMs: 3_600_000, graceMs: 0 }))
    .aggregate(hourly, { initial: () => 0n, add: { payments: (sum) => sum, fees: (sum, fee) => sum - fee } });
  const sessions = cogroup.windowedBy(session({ gapMs: 1, graceMs: 0 }));
  sessions.aggregate(visits, {
    initial: () => 0n,
    add: { payments: (count) => count + 1n, fees: (count) => count },
    merge: (left, right) => left + right,
  });
  // @ts-expect-error sessions become one
  sessions.aggregate(visits, { initial: () => 0n, add: { payments: (count) => count + 1n, fees: (count) => count } });
  // @ts-expect-error a table is no grouped stream
  streams.cogroup({ table });
  const keyed = streams.stream(payments).groupBy(() => 1, { key: double() });
  const unlike = streams.cogroup({ keyed, fees: streams.stream(fees).groupByKey() });
  // @ts-expect-error groupings of different keys have no store in common
  unlike.aggregate(balances, { initial: () => 0n, add: { keyed: (sum) => sum, fees: (sum) => sum } });
}
