import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Level } from 'level';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { childTimeoutMs, killWhileWriting } from './killed-writer.suite.js';
import { LevelDbEngine } from './leveldb-engine.js';
import { LevelDbPowerCuts } from './power-cut.suite.js';
import { bytesOf, describeStoreEngine, entriesOf } from './store-engine.suite.js';

describeStoreEngine('LevelDbEngine', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'tally-engine-'));
  return {
    engine: new LevelDbEngine(),
    cuts: new LevelDbPowerCuts(),
    directory: join(parent, 'application', 'task'),
    dispose: () => rm(parent, { recursive: true, force: true }),
  };
});

describe('LevelDbEngine on a disk that fails', () => {
  const engine = new LevelDbEngine({ writeBufferBytes: 64 * 1024 });
  let parent: string;
  let directory: string;

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'tally-engine-'));
    directory = join(parent, 'task');
  });

  afterEach(() => rm(parent, { recursive: true, force: true }));

  it('says that a directory cannot be written', async () => {
    await writeFile(directory, 'a file stands where the directory should be');
    await expect(engine.open(directory)).rejects.toMatchObject({ code: 'STATE_UNWRITABLE', message: expect.stringContaining(directory) });
    await expect(engine.open(join(directory, 'below'))).rejects.toMatchObject({ code: 'STATE_UNWRITABLE' });
  });

  it('says that a database is damaged', async () => {
    const database = await engine.open(directory);
    await database.close();
    const manifest = (await readdir(directory)).find((name) => name.startsWith('MANIFEST'));
    await rm(join(directory, String(manifest)));
    await expect(engine.open(directory)).rejects.toMatchObject({
      code: 'STATE_CORRUPT',
      kind: 'corrupt',
      message: expect.stringContaining(directory),
    });
    await engine.destroy(directory);
    await (await engine.open(directory)).close();
  });

  // The device that is always full exists on Linux alone; no other system lets a test fill a disk without mounting one.
  // oxlint-disable-next-line vitest/no-conditional-tests
  if (existsSync('/dev/full')) {
    it('says that the disk is full, loses nothing that was written before, and works again afterwards', async () => {
      const database = await engine.open(directory);
      let written = 0;
      const traps = Array.from({ length: 40 }, (_, index) => join(directory, `${String(index + 4).padStart(6, '0')}.log`));
      for (const trap of traps) await symlink('/dev/full', trap);
      const writeUntilFull = async (): Promise<void> => {
        for (; written < 100; written++) {
          const batch = database.batch();
          batch.put(bytesOf(`k${String(written).padStart(3, '0')}`), Buffer.alloc(8192, written));
          await batch.write();
        }
      };
      await expect(writeUntilFull()).rejects.toMatchObject({ code: 'STATE_DISK_FULL', message: expect.stringContaining(directory) });
      expect(written).toBeGreaterThan(0);
      expect(written).toBeLessThan(100);
      await database.close();
      for (const trap of traps) await rm(trap, { force: true });

      const reopened = await engine.open(directory);
      const keys = (await entriesOf(reopened.range({ gte: bytesOf('k'), lt: bytesOf('l') }))).map(([key]) => key);
      expect(keys).toEqual(Array.from({ length: written }, (_, index) => `k${String(index).padStart(3, '0')}`));
      await reopened.close();
    });
  }
});

describe('LevelDbEngine and stable storage', () => {
  it('asks for every batch to be synced', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'tally-engine-'));
    const database = await new LevelDbEngine().open(join(parent, 'task'));
    const write = vi.spyOn(Level.prototype, 'batch');
    const batch = database.batch();
    const made = write.mock.results[0]?.value as { write: (options: object) => Promise<void> };
    const written = vi.spyOn(made, 'write');
    batch.put(bytesOf('a'), bytesOf('1'));
    await batch.write();
    expect(written).toHaveBeenCalledExactlyOnceWith({ sync: true });
    write.mockRestore();
    await database.close();
    await rm(parent, { recursive: true, force: true });
  });
});

describe('LevelDbEngine whose process is killed', () => {
  it(
    'holds each batch whole or not at all, and every one that was acknowledged',
    async () => {
      const parent = await mkdtemp(join(tmpdir(), 'tally-killed-'));
      const directory = join(parent, 'task');
      const engine = new LevelDbEngine();
      let acknowledgedBefore = 0;
      for (let round = 0; round < 4; round++) {
        const acknowledged = await killWhileWriting(
          directory,
          `
          import { LevelDbEngine } from './state/leveldb-engine.js';
          const database = await new LevelDbEngine().open(process.argv[2]);
          for (let generation = ${acknowledgedBefore + 1}; ; generation++) {
            const batch = database.batch();
            for (let key = 0; key < 500; key++) batch.put(Buffer.from('k' + key), Buffer.from(String(generation)));
            await batch.write();
            console.log(generation);
          }`,
          acknowledgedBefore + 5 + round * 7,
        );
        const database = await engine.open(directory);
        const entries = await entriesOf(database.range({ gte: bytesOf('k'), lt: bytesOf('l') }));
        await database.close();
        const generations = new Set(entries.map(([, value]) => Number(value)));
        expect(entries).toHaveLength(500);
        expect(generations.size).toBe(1);
        const [generation] = generations;
        expect(generation).toBeGreaterThanOrEqual(acknowledged);
        expect(acknowledged).toBeGreaterThan(acknowledgedBefore);
        acknowledgedBefore = generation!;
      }
      await rm(parent, { recursive: true, force: true });
    },
    childTimeoutMs,
  );
});
