/** Global tables and what may be made of them. Compiled, never run. */
import { type GlobalKTable, int64, type KStream, keyValueStore, nullable, type StreamsBuilder, string, topic } from '@tally/streams';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>(): void => undefined;

const rates = topic('rates', { key: string(), value: nullable(int64()) });
const orders = topic('orders', { key: nullable(string()), value: nullable(string()) });

export function globalTables(streams: StreamsBuilder): void {
  const table = streams.globalTable(rates, keyValueStore('rows', { key: string(), value: int64() }));
  is<Equal<typeof table, GlobalKTable<string, bigint>>>();
  is<Equal<ReturnType<typeof streams.globalTable<string, bigint>>, GlobalKTable<string, bigint>>>();
  // @ts-expect-error the store holds another type
  streams.globalTable(rates, keyValueStore('rows', { key: string(), value: string() }));
  const stream = streams.stream(orders);
  const joined = stream.joinGlobal(table, { key: (order, key) => key ?? order, join: (order, rate) => BigInt(order.length) * rate });
  is<Equal<typeof joined, KStream<string | null, bigint>>>();
  const left = stream.leftJoinGlobal(table, { key: () => null, join: (order, rate) => (rate === null ? order : null) });
  is<Equal<typeof left, KStream<string | null, string | null>>>();
  // @ts-expect-error there may be no row
  stream.leftJoinGlobal(table, { key: (order) => order, join: (_order, rate) => rate + 1n });
  // @ts-expect-error the table has other keys
  stream.joinGlobal(table, { key: () => 5n, join: (order) => order });
  // @ts-expect-error the serde of another type
  stream.joinGlobal(table, { key: (order) => order, join: (order) => order, value: int64() });
  // @ts-expect-error a global table is joined by a key that is made of the record
  stream.joinGlobal(table, { join: (order: string) => order });
}
