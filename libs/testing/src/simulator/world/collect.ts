/** Collects what a history has written and holds, once everything has come to rest. */
import type { QueryableStore } from '@tally/streams';
import { lateRequest } from '../faults/index.js';
import type { StoreContents } from './evidence.js';
import { compareDisks } from './disks.js';
import type { History } from './history.js';
import { changelogContents } from './logs.js';

/** How long open transactions may take to end after all processes have, in milliseconds. */
const restLimitMs = 20_000;
const lookIntervalMs = 50;

export async function collect(history: History): Promise<void> {
  const { evidence, clock, era, cluster, machines } = history;
  const isComplete = history.isSound && !era.isEnding;
  if (isComplete) evidence.queried = await clock.run(queryStores(history));
  await clock.run(era.end());
  await rest(history);
  for (let late = 0; late < cluster.faults.lateRequests; late += 1) history.fired(lateRequest);
  evidence.eras.push(era.evidence(isComplete));
  evidence.records = history.plan.load.length;
  evidence.portViolations = cluster.violations;
  evidence.offsetCommits = cluster.offsetCommits;
  evidence.commitsMin = commitsOfQuietestInput(history);
  for (const machine of machines) for (const directory of machine.destroyed) evidence.destroyed.push(`${machine.name} ${directory}`);
  if (!isComplete || !history.options.comparesDisks) return;
  evidence.changelogs = changelogContents(history);
  await clock.run(compareDisks(history));
}

/** Waits until every marker is written. */
async function rest({ cluster, clock, evidence }: History): Promise<void> {
  const endMs = clock.monotonicMs() + restLimitMs;
  const isOpen = (): boolean =>
    [...cluster.topics.all()].some(({ partitions }) => partitions.some((log) => log.lastStableOffset !== log.highWatermark));
  while (isOpen()) {
    if (clock.monotonicMs() >= endMs) {
      evidence.stuck ??= 'a transaction stays open after all processes have ended';
      return;
    }
    await clock.advance(lookIntervalMs);
  }
}

async function queryStores({ setting, machines, evidence }: History): Promise<StoreContents> {
  const contents = new Map<string, Map<string, string>>();
  for (const store of setting.stores) {
    const texts = new Map<string, string>();
    contents.set(store.name, texts);
    const entries = new Map<unknown, unknown>();
    evidence.entries.set(store.name, entries);
    for (const { process, name } of machines) {
      if (process === undefined) continue;
      // All kinds of stores list pairs.
      for await (const [key, value] of process.worker.query<QueryableStore<unknown, unknown>>(store).all()) {
        const text = setting.keyText(key);
        if (texts.has(text)) evidence.heldTwice.push(`${name} holds ${text} of ${store.name}, which another one holds too`);
        texts.set(text, setting.storeText(store.name, value));
        entries.set(key, value);
      }
    }
  }
  return contents;
}

function commitsOfQuietestInput({ cluster, setting }: History): number {
  const counts = new Map<string, number>();
  for (const name of setting.inputs) {
    cluster.topics.find(name)?.partitions.forEach((_log, partition) => counts.set(`${name}-${partition}`, 0));
  }
  for (const { topic, partition } of cluster.offsetCommits) {
    const at = `${topic}-${partition}`;
    const count = counts.get(at);
    if (count !== undefined) counts.set(at, count + 1);
  }
  return Math.min(...counts.values());
}
