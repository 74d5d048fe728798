import { int64, keyValueStore, nullable, output, StreamsBuilder, string, topic, TopologyBuilder, windowStore } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { TopologyTestDriver } from '../driver/index.js';

const orders = topic('orders', { key: nullable(string()), value: nullable(string()) });
const names = topic('names', { key: nullable(string()), value: nullable(string()), partitions: 3 });
const rows = keyValueStore('rows', { key: string(), value: string() });
const inner = topic('inner', { key: nullable(string()), value: string() });
const left = topic('left', { key: nullable(string()), value: string() });

function joining() {
  const streams = new StreamsBuilder();
  const table = streams.globalTable(names, rows);
  const stream = streams.stream(orders);
  const key = (order: string): string | null => order.split(',')[1] ?? null;
  stream.joinGlobal(table, { key, join: (order, name, orderKey) => `${orderKey}: ${order} ${name.toUpperCase()}` }).to(inner);
  stream.leftJoinGlobal(table, { key, join: (order, name) => `${order} ${name}` }).to(left);
  return streams.build();
}

describe('a global table', () => {
  it("is joined by any key, by the stream's records alone", async () => {
    const driver = await TopologyTestDriver.start(joining());
    const [order, name] = [driver.input(orders), driver.input(names)];
    const results = () =>
      [driver.output(inner), driver.output(left)].map((topicOutput) =>
        topicOutput.readAll().map(({ key, value, timestampMs }) => `${key} ${value} @${timestampMs}`),
      );
    await order.pipe('k', '1,x', { timestampMs: 5 });
    expect(results()).toEqual([[], ['k 1,x null @5']]);
    for (const [key, value] of [
      ['x', 'ada'],
      ['y', 'eve'],
      ['z', 'joe'],
      [null, 'nobody'],
    ] as const)
      await name.pipe(key, value, { timestampMs: 50 });
    expect(results()).toEqual([[], []]);
    await order.pipe('k', '2,x', { timestampMs: 6 });
    await order.pipe(null, '3,y', { timestampMs: 7 });
    await order.pipe('k', '4', { timestampMs: 8 });
    await order.pipe('k', null, { timestampMs: 9 });
    await name.pipe('x', null);
    await order.pipe('k', '5,x', { timestampMs: 10 });
    expect(results()).toEqual([
      ['k k: 2,x ADA @6', 'null null: 3,y EVE @7'],
      ['k 2,x ada @6', 'null 3,y eve @7', 'k 4 null @8', 'k 5,x null @10'],
    ]);
    // The name without a key, the order without a value at each join, and the one without a name's key at the inner one.
    expect(driver.health().counters.recordsDropped).toBe(4);
    await driver.close();
  });

  it('is queried whole, with the times of its records', async () => {
    const driver = new TopologyTestDriver();
    const application = driver.createWorker({ topology: joining() }, { applicationId: 'test', stateDirectory: 'memory' });
    const queries = application.query(rows);
    await expect(queries.get('x')).rejects.toMatchObject({ code: 'WORKER_NOT_RUNNING' });
    await application.start();
    const name = driver.input(names);
    for (const key of ['a', 'b', 'c', 'd', 'e']) await name.pipe(key, key.toUpperCase(), { timestampMs: 7 });
    expect(await queries.get('d')).toBe('D');
    expect(await queries.getWithTimestamp('d')).toEqual({ value: 'D', timestampMs: 7 });
    expect(await queries.getWithTimestamp('none')).toBeUndefined();
    const some: unknown[] = [];
    for await (const entry of queries.range('b', 'd')) some.push(entry);
    expect(some).toEqual([
      ['b', 'B'],
      ['c', 'C'],
      ['d', 'D'],
    ]);
    expect(queries.partitions()).toEqual([0, 1, 2]);
    expect(await driver.store(rows).entries()).toHaveLength(5);
    expect(application.health().globalStores.map(({ store, partition }) => `${store}-${partition}`)).toEqual([
      'rows-0',
      'rows-1',
      'rows-2',
    ]);
    await driver.close();
  });

  it('may be of a topic that the topology writes itself', async () => {
    const streams = new StreamsBuilder();
    const table = streams.globalTable(names, rows);
    const stream = streams.stream(orders).filter((order): order is string => order !== null);
    stream.to(names);
    stream.joinGlobal(table, { key: (_order, key) => key, join: (order, name) => `${name} then ${order}` }).to(inner);
    const driver = await TopologyTestDriver.start(streams.build());
    await driver.input(orders).pipe('k', 'one');
    await driver.input(orders).pipe('k', 'two');
    expect(
      driver
        .output(inner)
        .readAll()
        .map(({ value }) => value),
    ).toEqual(['one then two']);
    expect(driver.output(names).readAll()).toHaveLength(2);
    await driver.close();
  });

  it('is read by processors, many records at a time, and written by none', async () => {
    const lookUps = async (act: 'get' | 'put' | 'delete' | 'all'): Promise<unknown> => {
      const streams = new StreamsBuilder();
      streams.globalTable(names, rows);
      const seen: unknown[] = [];
      streams
        .stream(orders)
        .process({
          stores: { rows },
          concurrency: { perTask: 10, orderedBy: 'key' },
          forwards: output<string, string>(),
          async process(record, { stores }) {
            await Promise.resolve();
            const key = record.key ?? '';
            if (act === 'put') stores.rows.put(key, 'x');
            else if (act === 'delete') stores.rows.delete(key);
            else if (act === 'get') seen.push(stores.rows.get('other'), stores.rows.getWithTimestamp('other')?.timestampMs);
            else for await (const entry of stores.rows.all()) seen.push(entry);
          },
        })
        .to(inner);
      const driver = await TopologyTestDriver.start(streams.build());
      try {
        await driver.input(names).pipe('other', 'ada', { timestampMs: 3 });
        await driver.input(orders).pipe('k', 'v');
        return seen;
      } finally {
        await driver.close();
      }
    };
    expect(await lookUps('get')).toEqual(['ada', 3]);
    expect(await lookUps('all')).toEqual([['other', 'ada']]);
    await expect(lookUps('put')).rejects.toThrow(/Store 'rows' holds what topic 'names' holds, and is only read/);
    await expect(lookUps('delete')).rejects.toThrow(/only read/);
  });

  it('shares no task with its readers, and has no changelog', () => {
    const streams = new StreamsBuilder();
    const table = streams.globalTable(names);
    for (const name of ['orders', 'refunds']) {
      const source = streams.stream(topic(name, { key: string(), value: string() }));
      source.joinGlobal(table, { key: (value) => value, join: (_value, row) => row }).to(inner);
    }
    const topology = streams.build();
    expect(topology.subTopologies.map(({ id, stores, sourceTopics }) => [id, stores, sourceTopics])).toEqual([
      ['orders', [], ['orders']],
      ['refunds', [], ['refunds']],
    ]);
    expect([...topology.stores.keys()]).toEqual([]);
    expect(topology.describe()).toContain('Global store names-global (keyValue, string -> string) of topic names');
    const other = new StreamsBuilder();
    other.stream(topic('orders', { key: string(), value: string() })).to(inner);
    other.stream(topic('refunds', { key: string(), value: string() })).to(inner);
    expect(topology.hash).toBe(other.build().hash);
  });

  it('is refused where its store or topic does not fit', () => {
    const builder = new TopologyBuilder();
    builder.globalStore(names, rows);
    builder.globalStore(names, rows);
    const refused = (act: () => unknown, message: RegExp) => expect(act).toThrow(message);
    refused(() => builder.source(names), /"names" is read as a global table and as a stream/);
    refused(
      () => builder.globalStore(names, keyValueStore('others', { key: string(), value: string() })),
      /"rows" holds the global topic "names" already/,
    );
    refused(() => builder.globalStore(orders, rows), /"rows" holds the global topic "names" already/);
    builder.source(topic('streamed', { key: string(), value: string() }));
    refused(
      () => builder.globalStore(topic('streamed', { key: string(), value: string() }), rows),
      /"streamed" is read as a global table and as/,
    );
    const other = topic('other', { key: string(), value: string() });
    const store = (options: object) => keyValueStore('store', { key: string(), value: string(), ...options });
    refused(
      () => builder.globalStore(other, store({ value: int64() })),
      /values of the topic are written by "string", and it reads them by "int64"/,
    );
    refused(() => builder.globalStore(other, store({ version: 1 })), /no schema version/);
    refused(() => builder.globalStore(other, store({ ttlMs: 5 })), /cannot have a "ttlMs"/);
    const windows = windowStore('store', { key: string(), value: string(), retentionMs: 5 });
    refused(() => builder.globalStore(other, windows as unknown as typeof rows), /only a key-value store can/);
  });
});
