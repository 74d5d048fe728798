import { nullable, sortedStore, string, topic, TopologyBuilder, type ProcessorContext } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { TopologyTestDriver } from '../driver/index.js';

const words = topic('words', { key: string(), value: string() });
const out = topic('out', { key: string(), value: nullable(string()) });
const buffer = sortedStore('buffer', { key: string(), value: string() });

function twoNodes(): TopologyBuilder {
  const builder = new TopologyBuilder();
  const source = builder.source(words);
  for (const name of ['first', 'second']) {
    const times = builder.processor(source, {
      name,
      stores: [buffer],
      process(record, context: ProcessorContext<string, string>) {
        if (record.value === name) return;
        const timeMs = context.advanceTime(buffer, record.timestampMs);
        if (record.value === 'fails') {
          context.rollback();
          return;
        }
        context.forward({ ...record, value: `${name} ${timeMs}` });
      },
    });
    builder.sink(times, out, { name: `sink-${name}` });
  }
  return builder;
}

describe("an operator's stream time", () => {
  it('is the largest timestamp that the operator was told, and is not raised by what it took back', async () => {
    const driver = await TopologyTestDriver.start(twoNodes().build());
    const input = driver.input(words);
    const timesAfter = async (value: string, timestampMs: number): Promise<unknown[]> => {
      await input.pipe('k', value, { timestampMs });
      return driver
        .output(out)
        .readAll()
        .map((record) => record.value);
    };
    expect(await timesAfter('x', 5)).toEqual(['first 5', 'second 5']);
    expect(await timesAfter('x', 3)).toEqual(['first 5', 'second 5']);
    expect(await timesAfter('first', 9)).toEqual(['second 9']);
    expect(await timesAfter('x', 7)).toEqual(['first 7', 'second 9']);
    expect(await timesAfter('fails', 100)).toEqual([]);
    expect(await timesAfter('x', 1)).toEqual(['first 7', 'second 9']);
    expect(await timesAfter('second', 20)).toEqual(['first 20']);
    await driver.close();
  });
});
