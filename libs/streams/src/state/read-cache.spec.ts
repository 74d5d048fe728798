import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LayeredStore } from './layered-store.js';
import { ReadCache } from './read-cache.js';
import type { StoreDatabase } from './store-engine.js';

/** A store over a database that counts its reads. */
class Subject {
  readonly content = new Map<string, Buffer>();
  reads = 0;
  readonly store: LayeredStore;

  constructor(name: string, cache: ReadCache) {
    const database = {
      getSync: (key: Uint8Array) => {
        this.reads++;
        return this.content.get(Buffer.from(key).toString('latin1'));
      },
    } as unknown as StoreDatabase;
    const definition = { kind: 'keyValue', name, changelog: true } as const;
    this.store = new LayeredStore(definition, database, cache, { open: 0, committing: 0, committed: 0 });
  }

  set(key: string, value: Buffer): void {
    this.content.set(`\u0001${this.store.name}\u0000\u0001${key}`, value);
  }

  get(key: string): Buffer | undefined {
    const value = this.store.get(key);
    return value === undefined ? undefined : Buffer.from(value);
  }

  /** Whether the key is read without asking the database. */
  isCached(key: string): boolean {
    const before = this.reads;
    this.get(key);
    return this.reads === before;
  }

  flush(key: string, value: Buffer | null): void {
    this.store.put(key, value);
    this.store.freeze();
    this.store.confirm();
    this.store.startFlush();
    if (value === null) this.content.delete(`\u0001${this.store.name}\u0000\u0001${key}`);
    else this.set(key, value);
    this.store.cacheFlushed(0, this.store.flushingCount);
    this.store.finishFlush();
  }
}

describe('ReadCache', () => {
  it('keeps within its bound, never hides what the database holds, and accounts exactly', () => {
    const operation = fc.record({
      kind: fc.constantFrom('flush', 'flush', 'delete', 'get', 'get'),
      store: fc.nat({ max: 1 }),
      key: fc.nat({ max: 9 }).map((number) => `k${number}`),
      length: fc.nat({ max: 300 }),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), fc.nat({ max: 6000 }), (operations, bytesMax) => {
        const cache = new ReadCache(bytesMax);
        const subjects = [new Subject('one', cache), new Subject('two', cache)];
        const expected = new Map<string, Buffer>();
        const answers: string[] = [];
        let order = 0;
        for (const { kind, store, key, length } of operations) {
          const at = `${store}/${key}`;
          const subject = subjects[store]!;
          if (kind === 'flush') {
            const value = Buffer.alloc(length + 1, order++);
            subject.flush(key, value);
            expected.set(at, value);
          } else if (kind === 'delete') {
            subject.flush(key, null);
            expected.delete(at);
          } else if (subject.get(key)?.toString('hex') !== expected.get(at)?.toString('hex')) answers.push(`${at} is wrong`);
          expect(cache.bytes).toBeLessThanOrEqual(bytesMax);
        }
        expect(answers).toEqual([]);
        for (const at of expected.keys()) subjects[Number(at[0])]!.flush(at.slice(2), null);
        expect(cache.bytes).toBe(0);
      }),
    );
  });

  it('keeps what is read while what is not read is dropped', () => {
    const subject = new Subject('store', new ReadCache(20 * 320));
    subject.set('hot', Buffer.alloc(1));
    subject.get('hot');
    for (let index = 0; index < 200; index++) {
      subject.set(`cold${index}`, Buffer.alloc(1));
      subject.get(`cold${index}`);
      expect(subject.isCached('hot')).toBe(true);
    }
    expect(subject.isCached('cold199')).toBe(true);
    expect(subject.isCached('cold0')).toBe(false);
  });

  it('is emptied when its bound shrinks below what it holds', () => {
    const cache = new ReadCache(10_000);
    const subject = new Subject('store', cache);
    subject.flush('a', Buffer.alloc(100));
    expect(subject.isCached('a')).toBe(true);
    cache.bytesMax = 100;
    expect(cache.bytes).toBe(0);
    expect([subject.isCached('a'), subject.isCached('a')]).toEqual([false, false]);
  });

  it('does not hold on to the buffer that a small value is a slice of', () => {
    const subject = new Subject('store', new ReadCache(10_000));
    const slab = Buffer.alloc(100_000);
    subject.set('a', slab.subarray(10, 20));
    subject.get('a');
    expect(subject.store.get('a')!.buffer).not.toBe(slab.buffer);
  });
});
