import { describe, expect, it } from 'vitest';
import { gate } from './gate.suite.js';
import { MemoryEngine } from './memory-engine.js';
import { MemoryPowerCuts } from './power-cut.suite.js';
import { bytesOf, describeStoreEngine, entriesOf } from './store-engine.suite.js';

describeStoreEngine('MemoryEngine', async () => ({
  engine: new MemoryEngine(),
  cuts: new MemoryPowerCuts(),
  directory: 'memory/task',
  dispose: async () => undefined,
}));

const everything = { gte: bytesOf('a'), lt: bytesOf('z') };

describe('crash of a MemoryEngine', () => {
  it('drops a write that has not reached stable storage, releases the lock and closes the old owner', async () => {
    const held = gate();
    let writes = 0;
    const engine = new MemoryEngine({ faults: { beforeWrite: () => (++writes === 2 ? held.opened : undefined) } });
    const database = await engine.open('d');
    const first = database.batch();
    first.put(bytesOf('a'), bytesOf('1'));
    await first.write();
    const second = database.batch();
    second.put(bytesOf('a'), bytesOf('2'));
    second.put(bytesOf('b'), bytesOf('2'));
    const writing = second.write();
    engine.crash('d');
    held.open();
    await expect(writing).rejects.toMatchObject({ code: 'STATE_CLOSED' });
    expect(() => database.getSync(bytesOf('a'))).toThrow(expect.objectContaining({ code: 'STATE_CLOSED' }));
    expect(writes).toBe(2);

    const successor = await engine.open('d');
    expect(await entriesOf(successor.range(everything))).toEqual([['a', '1']]);
    await database.close();
    await expect(engine.open('d')).rejects.toMatchObject({ code: 'STATE_LOCKED' });
  });

  it('keeps a write that is on stable storage although its writer never learns of it', async () => {
    const held = gate();
    const engine = new MemoryEngine({ faults: { afterWrite: () => held.opened } });
    const database = await engine.open('d');
    const batch = database.batch();
    batch.put(bytesOf('a'), bytesOf('1'));
    const writing = batch.write();
    await Promise.resolve();
    engine.crash();
    held.open();
    await expect(writing).rejects.toMatchObject({ code: 'STATE_CLOSED' });
    expect(await entriesOf((await engine.open('d')).range(everything))).toEqual([['a', '1']]);
  });

  it('brings back what was cleared without a synced write behind it', async () => {
    const engine = new MemoryEngine();
    let database = await engine.open('d');
    const batch = database.batch();
    batch.put(bytesOf('a'), bytesOf('1'));
    await batch.write();
    await database.clear(everything);
    expect(database.getSync(bytesOf('a'))).toBeUndefined();
    engine.crash();
    database = await engine.open('d');
    expect(await entriesOf(database.range(everything))).toEqual([['a', '1']]);
  });

  it('fails a write with the injected fault and applies none of it', async () => {
    const full = new Error('full');
    const engine = new MemoryEngine({ faults: { beforeWrite: () => Promise.reject(full) } });
    const database = await engine.open('d');
    const batch = database.batch();
    batch.put(bytesOf('a'), bytesOf('1'));
    await expect(batch.write()).rejects.toBe(full);
    expect(database.getSync(bytesOf('a'))).toBeUndefined();
    expect(engine.directories).toEqual(['d']);
  });
});
