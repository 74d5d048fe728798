/** What lies in the topics of a history. */
import { changelogTopicName, type ConsumedRecord, dataKind, keyValueCodec, latin1Of, untypedStore } from '@tally/streams';
import { textOf, type InputRecord } from '../scenarios/scenario.js';
import type { StoreContents } from './evidence.js';
import type { History } from './history.js';

type Starts = ReadonlyMap<string, readonly number[]>;

function isFrom(starts: Starts, { topic, partition, offset }: ConsumedRecord): boolean {
  return offset >= (starts.get(topic)?.[partition] ?? 0);
}

/** What has arrived from the offsets on. */
export function inputsOf({ inputLog, setting }: History, starts: Starts): readonly InputRecord[] {
  return setting.inputs
    .flatMap((name) => inputLog.records(name))
    .filter((record) => isFrom(starts, record))
    .map(({ topic, partition, offset, key, value, timestampMs }) => ({
      topic,
      partition,
      offset,
      key: textOf(key),
      value: value ?? new Uint8Array(),
      timestampMs,
    }));
}

/** Committed records of the outputs from the offsets on. */
export function outputsOf(history: History, starts: Starts): ReadonlyMap<string, readonly ConsumedRecord[]> {
  const recordsOf = (topic: string): readonly ConsumedRecord[] =>
    history.cluster.allRecords(topic).filter((record) => isFrom(starts, record));
  return new Map(outputTopics(history).map((topic) => [topic, recordsOf(topic)]));
}

function outputTopics(history: History): readonly string[] {
  const { cluster, setting } = history;
  const isOutput = (topic: string): boolean => !setting.inputs.includes(topic) && !history.isInternal(topic);
  return setting.outputs ?? Array.from(cluster.topics.all(), ({ name }) => name).filter(isOutput);
}

/** The last value of each physical key from an offset on; a key whose last record deletes it is there, with null. */
export function foldChangelog(
  { cluster, era }: History,
  store: string,
  partition: number,
  fromOffset = 0,
): ReadonlyMap<string, Uint8Array | null> {
  const entries = new Map<string, Uint8Array | null>();
  for (const { key, value, offset } of cluster.records(changelogTopicName(era.applicationId, store), partition)) {
    if (offset >= fromOffset && key !== null) entries.set(latin1Of(key), value);
  }
  return entries;
}

/** What the changelogs say that the stores hold. */
export function changelogContents(history: History): StoreContents {
  const contents = new Map<string, ReadonlyMap<string, string>>();
  for (const store of history.setting.stores) {
    // Other kinds lay out their entries in their own ways, and what has expired is seen by nobody but still there.
    if (store.kind !== 'keyValue' || !store.changelog || store.ttlMs !== undefined) continue;
    const codec = keyValueCodec(untypedStore(store));
    const texts = new Map<string, string>();
    const topic = history.cluster.topics.find(changelogTopicName(history.era.applicationId, store.name));
    topic?.partitions.forEach((_log, partition) => {
      for (const [name, stored] of foldChangelog(history, store.name, partition)) {
        const physicalKey = Buffer.from(name, 'latin1');
        if (stored === null || physicalKey[0] !== dataKind) continue;
        texts.set(history.setting.keyText(codec.decodeKey(physicalKey)), history.setting.storeText(store.name, codec.readValue(stored)));
      }
    });
    contents.set(store.name, texts);
  }
  return contents;
}
