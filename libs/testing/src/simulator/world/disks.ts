/**
 * Compares every disk with the changelog. A disk may be behind its changelog, or ahead of its position; with what lies behind the position
 * replayed it must be what the changelog says: that is what the next process would make of it, on whichever machine.
 */
import { changelogTopicName, dataKind, latin1Of, type StoreEngine, TaskState } from '@tally/streams';
import type { History } from './history.js';
import { foldChangelog } from './logs.js';
import type { Machine } from './machine.js';
import { changeloggedStores } from './setting.js';

type Entries = ReadonlyMap<string, Uint8Array | null>;

export async function compareDisks(history: History): Promise<void> {
  const comparison = new DiskComparison(history);
  for (const machine of history.machines) await comparison.compare(machine);
}

class DiskComparison {
  /** What the whole changelog of a partition says; the same for all disks. */
  private readonly wholes = new Map<string, Entries>();

  constructor(private readonly history: History) {}

  async compare(machine: Machine): Promise<void> {
    const prefix = `/${machine.name}/${this.history.era.applicationId}/`;
    for (const directory of machine.disk.directories) {
      const taskId = /\/tasks\/(.*)$/.exec(directory)?.[1];
      if (taskId === undefined || !directory.startsWith(prefix)) continue;
      await this.compareTask(machine.disk, directory, decodeURIComponent(taskId), `${machine.name} ${taskId}`);
    }
  }

  private async compareTask(engine: StoreEngine, directory: string, taskId: string, where: string): Promise<void> {
    const { setting, evidence, clock, cluster, era } = this.history;
    const partition = Number(taskId.slice(taskId.lastIndexOf('/') + 1));
    const stores = changeloggedStores(setting, taskId.slice(0, taskId.lastIndexOf('/')));
    const state = await TaskState.open({ engine, directory, task: taskId, stores, cacheBytesMax: 0, clock });
    for (const { name } of stores) {
      const position = state.position(name);
      const topic = cluster.topics.find(changelogTopicName(era.applicationId, name));
      // What belongs to another topic, or to nothing, is thrown away by whoever opens it.
      if (position === undefined || position.topicId !== topic?.topicId) continue;
      const entries = new Map<string, Uint8Array | null>();
      for await (const [key, stored] of state.store(name).range({ view: 'committed' })) entries.set(latin1Of(key), stored);
      for (const [key, stored] of foldChangelog(this.history, name, partition, position.offset)) entries.set(key, stored);
      const difference = firstDifference(this.whole(name, partition), entries);
      if (difference !== undefined) evidence.disksAstray.push(`${where}, store ${name} from ${position.offset} on: ${difference}`);
    }
    await state.close();
  }

  private whole(store: string, partition: number): Entries {
    const name = `${store}-${partition}`;
    let entries = this.wholes.get(name);
    if (entries === undefined) {
      entries = foldChangelog(this.history, store, partition);
      this.wholes.set(name, entries);
    }
    return entries;
  }
}

/** Of the application's entries; what Tally keeps for itself is not read back by `range`. */
function firstDifference(expected: Entries, actual: Entries): string | undefined {
  for (const entries of [expected, actual]) {
    for (const key of entries.keys()) {
      if (key.codePointAt(0) !== dataKind) continue;
      const [wanted, found] = [expected.get(key) ?? null, actual.get(key) ?? null];
      if (wanted === null ? found === null : found !== null && Buffer.compare(wanted, found) === 0) continue;
      return `key ${JSON.stringify(key.slice(1))} is ${shown(found)}, the changelog has ${shown(wanted)}`;
    }
  }
  return undefined;
}

/** The value without the version and the timestamp in front of it. */
function shown(stored: Uint8Array | null): string {
  return stored === null ? 'absent' : JSON.stringify(Buffer.from(stored.subarray(9)).toString('utf8').slice(0, 60));
}
