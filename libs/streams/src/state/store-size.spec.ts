import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { reservedKind, dataKind, storePrefix } from './layout.js';
import { LevelDbEngine } from './leveldb-engine.js';
import { MemoryEngine } from './memory-engine.js';
import type { StoreDatabase, StoreEngine } from './store-engine.js';
import { estimateStoreSize } from './store-size.js';

const directory = mkdtempSync(join(tmpdir(), 'tally-size-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function fill(database: StoreDatabase, store: string, entries: number, valueBytes: number): Promise<void> {
  const value = (index: number): Uint8Array => Buffer.alloc(valueBytes, `${index * 7919}`);
  for (let from = 0; from < entries; from += 5_000) {
    const batch = database.batch();
    for (let index = from; index < Math.min(entries, from + 5_000); index++)
      batch.put(Buffer.concat([storePrefix(store), Uint8Array.of(dataKind), Buffer.from(String(index).padStart(8, '0'))]), value(index));
    await batch.write();
  }
}

async function withDatabase(engine: StoreEngine, name: string, act: (database: StoreDatabase) => Promise<void>): Promise<void> {
  const database = await engine.open(join(directory, name));
  try {
    await act(database);
  } finally {
    await database.close();
  }
}

describe('the size of a store', () => {
  it.each([
    ['memory', new MemoryEngine()],
    ['LevelDB', new LevelDbEngine()],
  ] as const)('is counted while it is small (%s), of its own entries alone', async (name, engine) => {
    await withDatabase(engine, `small-${name}`, async (database) => {
      await fill(database, 'sums', 100, 10);
      await fill(database, 'sums-of-others', 50, 10);
      const batch = database.batch();
      batch.put(Buffer.concat([storePrefix('sums'), Uint8Array.of(reservedKind), Buffer.from('owner')]), Buffer.from('x'));
      await batch.write();
      // Eight bytes of key, ten of value.
      expect(await estimateStoreSize(database, 'sums')).toEqual({ entries: 100, bytes: 1_800 });
      expect(await estimateStoreSize(database, 'none')).toEqual({ entries: 0, bytes: 0 });
    });
  });

  it('is estimated when it is large, to within a quarter', async () => {
    const entries = 60_000;
    // A small write buffer, so that most of it is in files.
    await withDatabase(new LevelDbEngine({ writeBufferBytes: 128 * 1024 }), 'large', async (database) => {
      await fill(database, 'sums', entries, 64);
      const size = await estimateStoreSize(database, 'sums');
      expect(size.entries).toBeGreaterThan(entries * 0.75);
      expect(size.entries).toBeLessThan(entries * 1.25);
      expect(size.bytes / size.entries).toBeCloseTo(72, 0);
    });
  });
});
