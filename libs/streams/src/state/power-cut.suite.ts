/**
 * Engines whose power can be cut. What was not synced then is lost, but for as much of it as the test wants to survive: a disk may have
 * written any first part of it by itself.
 */
import { cpSync, existsSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gate } from './gate.suite.js';
import { LevelDbEngine } from './leveldb-engine.js';
import { MemoryEngine } from './memory-engine.js';
import { stateClosedError } from './state-errors.js';
import type { EngineBatch, StoreDatabase, StoreEngine } from './store-engine.js';

export interface PowerCuts {
  readonly engine: StoreEngine;
  /**
   * Ends the process that has the directory's database open and cuts the power, while `write` is under way if there is one: it must
   * reject with `STATE_CLOSED`, for nobody lives to hear that it is done.
   * @param survives how much of what was not synced the disk has nevertheless, from 0 (nothing) to 1 (all).
   */
  cutPower(directory: string, survives: number, write?: () => Promise<void>): Promise<void>;
}

async function expectUnanswered(write: () => Promise<void>): Promise<void> {
  const answered = await write().then(
    () => true,
    (error: { code?: string }) => {
      if (error.code !== 'STATE_CLOSED') throw error;
      return false;
    },
  );
  if (answered) throw new Error('A write was acknowledged although the power had been cut.');
}

/** In memory a write that was not synced is kept whole or not at all, and what was cleared since the last synced write comes back. */
export class MemoryPowerCuts implements PowerCuts {
  readonly engine = new MemoryEngine({
    faults: { beforeWrite: () => this.holdAt('beforeWrite'), afterWrite: () => this.holdAt('afterWrite') },
  });
  private held: { readonly at: 'beforeWrite' | 'afterWrite'; readonly reached: () => void; readonly released: Promise<void> } | undefined;

  async cutPower(directory: string, survives: number, write?: () => Promise<void>): Promise<void> {
    if (write === undefined) {
      this.engine.crash(directory);
      return;
    }
    const [reached, released] = [gate(), gate()];
    this.held = { at: survives === 1 ? 'afterWrite' : 'beforeWrite', reached: () => reached.open(), released: released.opened };
    const unanswered = expectUnanswered(write);
    await reached.opened;
    this.engine.crash(directory);
    this.held = undefined;
    released.open();
    await unanswered;
  }

  private holdAt(at: 'beforeWrite' | 'afterWrite'): Promise<void> | undefined {
    if (this.held?.at !== at) return undefined;
    this.held.reached();
    return this.held.released;
  }
}

/**
 * LevelDB itself, on files that are copied at the cut: its log, to which every write is appended, ends in the copy somewhere behind what it
 * held when the last synced write was acknowledged, perhaps within a record. All that follows happens in the copy.
 */
export class LevelDbPowerCuts implements PowerCuts {
  readonly engine: StoreEngine = { open: (directory) => this.open(directory), destroy: (directory) => this.destroy(directory) };
  private readonly levelDb = new LevelDbEngine();
  private readonly homes = new Map<string, string>();
  private readonly opened = new Map<string, CuttableDatabase>();
  private cuts = 0;

  async cutPower(directory: string, survives: number, write?: () => Promise<void>): Promise<void> {
    const database = this.opened.get(directory);
    if (database === undefined) throw new Error(`Nobody has ${directory} open.`);
    database.cut();
    if (write !== undefined) await expectUnanswered(write);
    const copy = `${directory}-${++this.cuts}`;
    copyFiles(database.home, copy);
    truncateLog(copy, database.syncedLog, survives);
    await database.close();
    await rm(database.home, { recursive: true });
    this.homes.set(directory, copy);
  }

  private homeOf(directory: string): string {
    return this.homes.get(directory) ?? directory;
  }

  private async open(directory: string): Promise<StoreDatabase> {
    const home = this.homeOf(directory);
    const database = new CuttableDatabase(await this.levelDb.open(home), home);
    this.opened.set(directory, database);
    return database;
  }

  private destroy(directory: string): Promise<void> {
    return this.levelDb.destroy(this.homeOf(directory));
  }
}

interface Log {
  readonly name: string;
  readonly bytes: number;
}

class CuttableDatabase implements StoreDatabase {
  /** The log as it was when the last synced write was acknowledged, or the database opened. */
  syncedLog: Log;
  private isCut = false;

  constructor(
    private readonly inner: StoreDatabase,
    readonly home: string,
  ) {
    this.syncedLog = newestLog(home);
  }

  /** From now on nothing is acknowledged. */
  cut(): void {
    this.isCut = true;
  }

  getSync(key: Uint8Array): Uint8Array | undefined {
    return this.inner.getSync(key);
  }

  range(range: Parameters<StoreDatabase['range']>[0]): ReturnType<StoreDatabase['range']> {
    return this.inner.range(range);
  }

  batch(): EngineBatch {
    const batch = this.inner.batch();
    return {
      put: (key, value) => batch.put(key, value),
      delete: (key) => batch.delete(key),
      get length() {
        return batch.length;
      },
      close: () => batch.close(),
      write: async () => {
        await batch.write();
        if (this.isCut) throw stateClosedError(`directory ${this.home}`);
        this.syncedLog = newestLog(this.home);
      },
    };
  }

  clear(range: Parameters<StoreDatabase['clear']>[0]): Promise<void> {
    return this.inner.clear(range);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}

function logsOf(home: string): string[] {
  return readdirSync(home)
    .filter((name) => name.endsWith('.log'))
    .sort();
}

function newestLog(home: string): Log {
  const name = logsOf(home).at(-1);
  if (name === undefined) throw new Error(`The database in ${home} has no log.`);
  return { name, bytes: statSync(join(home, name)).size };
}

/** LevelDB tidies up by itself, on a thread of its own: files that came or went meanwhile make no copy of one moment. */
function copyFiles(home: string, copy: string): void {
  for (;;) {
    const before = readdirSync(home).sort();
    try {
      cpSync(home, copy, { recursive: true });
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
    }
    if (before.join() === readdirSync(home).sort().join() && existsSync(copy)) return;
    rmSync(copy, { recursive: true, force: true });
  }
}

function truncateLog(copy: string, synced: Log, survives: number): void {
  for (const name of logsOf(copy).filter((log) => log >= synced.name)) {
    const path = join(copy, name);
    const syncedBytes = name === synced.name ? synced.bytes : 0;
    truncateSync(path, syncedBytes + Math.floor((statSync(path).size - syncedBytes) * survives));
  }
}
