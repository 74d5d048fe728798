/** One topology for each family of operators, all over the same payments and with sums as outputs. `OperatorFamilies.java` holds the same. */
import {
  hopping,
  int64,
  json,
  type KStream,
  keyValueStore,
  nullable,
  session,
  sessionStore,
  sliding,
  StreamsBuilder,
  string,
  topic,
  type Topology,
  tumbling,
  type Windowed,
  windowStore,
} from '@tally/streams';
import { familyNames } from '../families.mjs';
import { Payment } from './payment.js';

const key = string();
const value = int64();
const sums = { key, value };
const windowed = { ...sums, retentionMs: 60_000 };
const initial = (): bigint => 0n;
const add = (sum: bigint, amount: bigint): bigint => sum + amount;
const fold = { initial, add };

type Amounts = KStream<string, bigint>;
type Sums = KStream<string, bigint | null>;

const serdes = { key, value: nullable(value) };
const byKey = (sum: bigint | null, window: Windowed<string>): readonly [string, bigint | null] => [window.key, sum];

const families: Readonly<Record<(typeof familyNames)[number], (amounts: Amounts) => Sums | Amounts>> = {
  stateless: (amounts) => amounts.filter((amount) => amount % 2n === 0n).map((amount) => amount * 2n),
  aggregate: (amounts) => amounts.groupByKey().aggregate(keyValueStore('sums', sums), fold).toStream(),
  tumbling: (amounts) =>
    amounts
      .groupByKey()
      .windowedBy(tumbling({ sizeMs: 1_000, graceMs: 1_000 }))
      .aggregate(windowStore('sums', windowed), fold)
      .toStream()
      .mapRecord(byKey, serdes),
  hopping: (amounts) =>
    amounts
      .groupByKey()
      .windowedBy(hopping({ sizeMs: 1_000, advanceMs: 250, graceMs: 1_000 }))
      .aggregate(windowStore('sums', windowed), fold)
      .toStream()
      .mapRecord(byKey, serdes),
  sliding: (amounts) =>
    amounts
      .groupByKey()
      .windowedBy(sliding({ differenceMs: 500, graceMs: 1_000 }))
      .aggregate(windowStore('sums', windowed), fold)
      .toStream()
      .mapRecord(byKey, serdes),
  session: (amounts) =>
    amounts
      .groupByKey()
      .windowedBy(session({ gapMs: 200, graceMs: 1_000 }))
      .aggregate(sessionStore('sums', windowed), { ...fold, merge: add })
      .toStream()
      .mapRecord(byKey, serdes),
  suppress: (amounts) =>
    amounts
      .groupByKey()
      .windowedBy(tumbling({ sizeMs: 1_000, graceMs: 0 }))
      .aggregate(windowStore('sums', windowed), fold)
      .suppress({ until: 'windowCloses', name: 'closed' })
      .toStream()
      .mapRecord(byKey, serdes),
  streamJoin: (amounts) => amounts.join(amounts, add, { beforeMs: 100, afterMs: 100, graceMs: 0, name: 'joined' }),
  streamTable: (amounts) => amounts.join(amounts.toTable({ store: keyValueStore('last', sums) }), add, { name: 'joined' }),
  tableJoin(amounts) {
    const grouped = amounts.groupByKey();
    return grouped
      .aggregate(keyValueStore('sums', sums), fold)
      .join(grouped.count(keyValueStore('counts', sums)), add, { name: 'joined' })
      .toStream();
  },
};

export const paymentsOf = (input: string) => topic(input, { key, value: json(Payment) });

export function operatorTopology(family: string, input: string, output: string): Topology {
  const name = familyNames.find((each) => each === family);
  if (name === undefined) throw new Error(`There is no family '${family}'; there are: ${familyNames.join(', ')}.`);
  const streams = new StreamsBuilder({ name: family });
  const amounts = streams.stream(paymentsOf(input)).map((payment) => BigInt(payment.amount), { value });
  (families[name](amounts) as Sums).to(topic(output, serdes));
  return streams.build();
}
