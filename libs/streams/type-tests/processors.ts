/** The Processor API as an application uses it, and what the compiler must refuse. Compiled, never run. */
import {
  int64,
  json,
  keyValueStore,
  output,
  string,
  topic,
  type AnyStoreDefinition,
  type AnyTopic,
  type NodeHandle,
  type Processor,
  type ProcessorContext,
  type StreamRecord,
  type TopologyBuilder,
} from '@tally/streams';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>(): void => undefined;

interface Payment {
  readonly id: string;
  readonly amount: bigint;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const totals = topic('totals', { key: string(), value: int64() });
const balances = keyValueStore('balances', { key: string(), value: int64() });

class Sum implements Processor<string, Payment, string, bigint> {
  process(record: StreamRecord<string, Payment>, context: ProcessorContext<string, bigint>): void {
    context.forward({ ...record, value: record.value.amount });
    // @ts-expect-error forwards bigint
    context.forward(record);
  }
}

export function processors(builder: TopologyBuilder): void {
  const source = builder.source(payments);
  is<Equal<typeof source, NodeHandle<string, Payment>>>();
  const sum = builder.processor(source, { name: 'sum', stores: [balances], create: () => new Sum() });
  is<Equal<typeof sum, NodeHandle<string, bigint>>>();
  builder.sink(sum, totals);
  builder.sink(sum, (record) => (record.value > 0n ? totals : totals));
  // @ts-expect-error the topic takes bigint
  builder.sink(source, totals);
  // @ts-expect-error the chosen topic takes bigint
  builder.sink(source, () => totals);
  // @ts-expect-error the processor takes payments
  builder.processor(sum, { name: 'again', create: () => new Sum() });

  const inline = builder.processor(source, {
    name: 'inline',
    process(record, context: ProcessorContext<string, bigint>) {
      const store = context.store(balances);
      store.put(record.key, (store.get(record.key) ?? 0n) + record.value.amount);
      context.forward({ ...record, value: record.value.amount });
      context.send(totals, record.key, record.value.amount, { timestampMs: 0 });
      // @ts-expect-error the topic takes bigint
      context.send(totals, record.key, record.value);
      // @ts-expect-error the store holds bigint
      store.put(record.key, 5);
    },
  });
  is<Equal<typeof inline, NodeHandle<string, bigint>>>();
  builder.processor(source, {
    name: 'silent',
    process(record, context) {
      // @ts-expect-error what it forwards was not declared
      context.forward(record);
    },
  });
  // @ts-expect-error neither process nor create
  builder.processor(source, { name: 'empty' });
}

export function branches(builder: TopologyBuilder): void {
  const { accepted, rejected } = builder.branchingProcessor(builder.source(payments), {
    name: 'check',
    outputs: { accepted: output<string, Payment>(), rejected: output<string, string>() },
    process(record, context) {
      context.forward('accepted', record);
      context.forward('rejected', { ...record, value: 'why' });
      // @ts-expect-error that output takes text
      context.forward('rejected', record);
      // @ts-expect-error no such output
      context.forward('other', record);
    },
  });
  is<Equal<typeof accepted, NodeHandle<string, Payment>>>();
  is<Equal<typeof rejected, NodeHandle<string, string>>>();
  builder.sink(accepted, payments);
  // @ts-expect-error that output forwards text
  builder.sink(rejected, payments);
}

export function joins(builder: TopologyBuilder): void {
  const [left, right] = [builder.source(payments), builder.source(totals)];
  builder.copartition(left, right);
  // @ts-expect-error one alone has nothing to meet
  builder.copartition(left);
  const again = builder.repartition(left, { name: 'again', key: string(), value: json<Payment>() });
  is<Equal<typeof again, NodeHandle<string, Payment>>>();
  // @ts-expect-error the serde of another type
  builder.repartition(left, { name: 'again', key: string(), value: int64() });
}

// Handles of every type fit where types do not matter.
export const everyStore: readonly AnyStoreDefinition[] = [balances, keyValueStore('a', { key: int64(), value: json<Payment>() })];
export const everyTopic: readonly AnyTopic[] = [payments, totals];
