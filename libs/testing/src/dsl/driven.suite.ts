/* oxlint-disable vitest/no-standalone-expect -- called from within tests */
/**
 * Drives a topology record by record, and refuses what would wait: while a record is processed, every asynchronous read of the store engine throws,
 * and no processor may return a promise.
 */
import type { Topic, Topology, TopologyNode, WorkerHealth } from '@tally/streams';
import { afterEach, expect, vi } from 'vitest';
import { TopologyTestDriver } from '../driver/index.js';
import { refuseRanges } from './refuse-ranges.suite.js';

const drivers: TopologyTestDriver[] = [];
let isProcessing = false;

afterEach(async () => {
  vi.restoreAllMocks();
  for (const driver of drivers.splice(0)) await driver.close();
});

export interface Driven {
  readonly driver: TopologyTestDriver;
  /** @returns what came out of the topic `out`, as `key=value @timestamp header`. */
  readonly pipe: <K, V>(topic: Topic<K, V>, key: K, value: V, timestampMs: number, header?: string) => Promise<string[]>;
  readonly health: () => WorkerHealth;
}

export async function driven<K, V>(topology: Topology, out: Topic<K, V>): Promise<Driven> {
  refuseRanges(() => isProcessing);
  const driver = await TopologyTestDriver.start(synchronous(topology));
  drivers.push(driver);
  return {
    driver,
    health: () => driver.health(),
    pipe: async (topic, key, value, timestampMs, header) => {
      const headers = header === undefined ? [] : [{ name: 'h', value: Buffer.from(header) }];
      await driver.input(topic).pipe(key, value, { timestampMs, headers });
      const records = driver.output(out).readAll();
      return records.map((record) => {
        const shown = record.headers.map(({ value: of }) => ` ${Buffer.from(of).toString()}`).join('');
        return `${String(record.key)}=${String(record.value)} @${record.timestampMs}${shown}`;
      });
    },
  };
}

function synchronous(topology: Topology): Topology {
  const nodes = [...topology.nodes].map(([name, node]): [string, TopologyNode] => {
    if (node.kind !== 'processor') return [name, node];
    const create = (): ReturnType<typeof node.create> => {
      const processor = node.create();
      return {
        ...processor,
        process(record, context) {
          const wasProcessing = isProcessing;
          isProcessing = true;
          try {
            expect(processor.process(record, context)).toBeUndefined();
          } finally {
            isProcessing = wasProcessing;
          }
        },
      };
    };
    return [name, { ...node, create }];
  });
  return { ...topology, nodes: new Map(nodes) };
}
