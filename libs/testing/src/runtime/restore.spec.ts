import { MemoryEngine, TopologyBuilder, keyValueStore, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type Setting, setting } from './setting.suite.js';

const changes = topic('changes', { key: string(), value: string() });
const latest = keyValueStore('latest', { key: string(), value: string() });

/** Keeps the last value of each key; the value `delete` deletes. */
function keeping() {
  const builder = new TopologyBuilder({ name: 'keeping' });
  builder.processor(builder.source(changes), {
    name: 'keep',
    stores: [latest],
    process({ key, value }, context) {
      const store = context.store(latest);
      if (value === 'delete') store.delete(key);
      else store.put(key, value);
    },
  });
  return builder.build();
}

/** Runs a worker on the disk until it has processed the changes, and stops it. */
async function apply(test: Setting, disk: MemoryEngine, ...records: readonly (readonly [key: string, value: string])[]): Promise<void> {
  test.cluster.append(
    'changes',
    0,
    records.map(([key, value]) => ({ key, value })),
  );
  const worker = await test.start(keeping(), {}, {}, disk);
  await test.until(() => worker.health().counters.records === records.length);
  await test.stop(worker);
}

describe('a restore', () => {
  it('that was cut off does not make the entries of before look younger than they are', async () => {
    const test = setting({ changes: 1 });
    const options = { tombstoneRetentionMs: 100_000 };
    const [disk, otherDisk] = [new MemoryEngine(), new MemoryEngine()];
    const first = await test.start(keeping(), options, {}, disk);
    test.cluster.append('changes', 0, [{ key: 'gone', value: 'x' }]);
    await test.until(() => first.health().counters.records === 1);
    await test.stop(first);
    // More than one read of the restore, and the deletion behind it.
    const filling = Array.from({ length: 10_500 }, (_, index) => [`k${index}`, 'y'] as const);
    await apply(test, otherDisk, ...filling, ['gone', 'delete']);
    test.cluster.compact();
    await test.clock.advance(90_000);
    const cutOff = await test.start(keeping(), options, {}, disk);
    await test.until(() => cutOff.health().counters.recordsRestored > 0);
    await test.stop(cutOff);
    expect(cutOff.health().counters.recordsRestored).toBeLessThan(10_500);
    await test.clock.advance(20_000);
    test.cluster.compact();
    await test.clock.advance(40_000);

    const last = await test.start(keeping(), options, {}, disk);
    await test.until(() => last.health().ready && last.health().tasks.length === 1);
    expect(await last.query(latest).get('gone')).toBeUndefined();
    expect(await last.query(latest).get('k10499')).toBe('y');
  });

  it('for which no reader can be connected does not hold up a stop', async () => {
    const test = setting({ changes: 1 });
    await apply(test, new MemoryEngine(), ['a', 'x']);
    const worker = await test.start(keeping(), {}, {}, new MemoryEngine());
    test.cluster.faults.add((request) => (request.name === 'connect' ? { lose: 'request' } : undefined));
    await test.until(() => test.cluster.faults.fired.length > 0);
    let hasStopped = false;
    void worker.stop().then(() => {
      hasStopped = true;
    });
    await test.clock.advance(25_000);
    expect(hasStopped).toBe(true);
  });

  it('whose changelog is deleted under it ends, and says why', async () => {
    for (const isMadeAnew of [false, true]) {
      const test = setting({ changes: 1 });
      await apply(test, new MemoryEngine(), ['a', 'x'], ['b', 'x']);
      test.cluster.faults.add((request) => (request.name === 'fetch' ? { delayMs: 2_000 } : undefined));
      const worker = await test.start(keeping(), {}, {}, new MemoryEngine());
      await test.until(() => (worker.health().tasks[0]?.restoreOffsetsTotal ?? 0) > 0);
      test.cluster.deleteTopic('app-latest-changelog');
      if (isMadeAnew) test.cluster.createTopic('app-latest-changelog', 1, { 'cleanup.policy': 'compact' });
      await test.until(() => worker.health().phase === 'failed');
      expect(worker.health().error?.message).toMatch(isMadeAnew ? /its changelog holds nothing/ : /app-latest-changelog/);
    }
  });
});
