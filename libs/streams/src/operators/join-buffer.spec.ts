import { describe, expect, it } from 'vitest';
import { noHeaders, type StreamRecord } from '../core/record.js';
import { int64, string } from '../serde/index.js';
import { StoreSetting } from '../state/stores/store-setting.suite.js';
import type { SortedStore } from '../topology/index.js';
import { JoinBuffer, type JoinSide, type OpenJoinBuffer } from './join-buffer.js';

const buffer = new JoinBuffer<string, string>('buffer', string(), string());

async function opened(): Promise<{
  use: <T>(work: (open: OpenJoinBuffer<string, string>) => T) => T;
  setting: { commit(): void; restore(): Promise<void>; entryCount: number };
}> {
  const setting = await StoreSetting.open<SortedStore<Uint8Array, Uint8Array>>(buffer.store);
  return {
    setting,
    use: (work) => setting.record(0, (store) => work(buffer.open({ store: () => store as never }))),
  };
}

function record(key: string, value: string, timestampMs: number): StreamRecord<string, string> {
  return { key, value, timestampMs, headers: noHeaders };
}

/** The values of a side, in the order in which they lie. */
function valuesOf(open: OpenJoinBuffer<string, string>, side: JoinSide): string[] {
  const values: string[] = [];
  for (let next = open.first(side); next !== undefined; next = open.next(next)) values.push(open.read(next).value);
  return values;
}

describe('the buffer of a join', () => {
  it('holds the records of each side by time, then by key, then as they came', async () => {
    const { use, setting } = await opened();
    use((open) => {
      open.add('left', record('b', 'b9', 9));
      open.add('left', record('ab', 'ab5', 5));
      open.add('left', record('a', 'a5', 5));
      open.add('right', record('a', 'right', 1));
      open.add('left', record('a', 'a5 again', 5));
      open.add('left', record('a\u0000', 'a0', 5));
      open.add('left', record('z', 'before 1970', -3));
    });
    setting.commit();
    await setting.restore();
    const inOrder = ['before 1970', 'a5', 'a5 again', 'a0', 'ab5', 'b9'];
    expect(use((open) => valuesOf(open, 'left'))).toEqual(inOrder);
    expect(use((open) => valuesOf(open, 'right'))).toEqual(['right']);
    expect(use((open) => [open.last('left')?.timeMs, open.last('right')?.timeMs])).toEqual([9, 1]);
    expect(use((open) => [open.first('left', 6)?.timeMs, open.first('left', 9)?.timeMs, open.first('left', 10)])).toEqual([
      9,
      9,
      undefined,
    ]);
  });

  it('gives records back as they were', async () => {
    const { use } = await opened();
    const headers = [{ name: 'h', value: Buffer.from('1') }];
    const given = { ...record('key', 'value', 7), headers };
    use((open) => open.add('left', given));
    expect(use((open) => open.read(open.first('left')!))).toEqual(given);
  });

  it('removes one record, or all of a side, key and time', async () => {
    const { use, setting } = await opened();
    use((open) => {
      for (const value of ['1', '2', '3']) open.add('left', record('a', value, 5));
      open.add('left', record('ab', 'other key', 5));
      open.add('left', record('a', 'other time', 6));
      open.add('right', record('a', 'other side', 5));
      open.remove(open.first('left')!);
    });
    expect(use((open) => valuesOf(open, 'left'))).toEqual(['2', '3', 'other key', 'other time']);
    // What comes now is still the last of its key and time.
    use((open) => open.add('left', record('a', '4', 5)));
    expect(use((open) => valuesOf(open, 'left'))).toEqual(['2', '3', '4', 'other key', 'other time']);
    use((open) => open.removeAll('left', 5, 'a'));
    expect(use((open) => [...valuesOf(open, 'left'), ...valuesOf(open, 'right')])).toEqual(['other key', 'other time', 'other side']);
    use((open) => {
      open.removeAll('left', 5, 'ab');
      open.removeAll('left', 6, 'a');
      open.removeAll('right', 5, 'a');
      expect([open.first('left'), open.last('left'), open.last('right')]).toEqual([undefined, undefined, undefined]);
    });
    setting.commit();
    expect(setting.entryCount).toBe(0);
  });

  it('keeps a time of its own beside them', async () => {
    const { use } = await opened();
    expect(use((open) => open.ownTimeMs)).toBeUndefined();
    use((open) => {
      open.ownTimeMs = -5;
    });
    expect(use((open) => [open.ownTimeMs, open.first('left'), open.last('right')])).toEqual([-5, undefined, undefined]);
    use((open) => {
      open.ownTimeMs = undefined;
    });
    expect(use((open) => open.ownTimeMs)).toBeUndefined();
  });

  it('is another store where the serdes are others', () => {
    const names = [
      buffer,
      new JoinBuffer('buffer', string(), int64()),
      new JoinBuffer<string, unknown>('buffer', string(), string() as never, int64() as never),
    ];
    expect(names.map(({ store }) => store.value.name)).toEqual(['joinValue(string)', 'joinValue(int64)', 'joinValue(string,int64)']);
  });
});
