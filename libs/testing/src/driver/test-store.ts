import { type KeyValueStore, type KeyValueStoreDefinition, partitionForKey } from '@tally/streams';
import type { DrivenWorker } from './driven-worker.js';

export interface StorePlace {
  /** Default: the key's own, as producers choose it. */
  readonly partition?: number;
}

export interface PutOptions extends StorePlace {
  /** Of the record that is said to have written the entry. Default: the driver's wall-clock time. */
  readonly timestampMs?: number;
}

/** A key-value store of the topology under test: its committed state. Writes go through the changelog, as those of a processor. */
export class TestStore<K, V> {
  constructor(
    private readonly definition: KeyValueStoreDefinition<K, V>,
    private readonly worker: () => DrivenWorker,
    private readonly edit: <Result>(partition: number, edit: (store: KeyValueStore<K, V>) => Result) => Promise<Result>,
  ) {}

  get(key: K, place: StorePlace = {}): Promise<V | undefined> {
    const { partition } = place;
    return partition === undefined ? this.worker().query(this.definition).get(key) : this.edit(partition, (store) => store.get(key));
  }

  /** All entries, partition by partition, in the byte order of their keys. */
  async entries(): Promise<(readonly [K, V])[]> {
    const entries: (readonly [K, V])[] = [];
    for await (const entry of this.worker().query(this.definition).all()) entries.push(entry);
    return entries;
  }

  async put(key: K, value: V, options: PutOptions = {}): Promise<void> {
    const { timestampMs } = options;
    await this.edit(this.partitionOf(key, options), (store) => {
      if (timestampMs === undefined) store.put(key, value);
      else store.putWithTimestamp(key, value, timestampMs);
    });
  }

  async delete(key: K, place: StorePlace = {}): Promise<void> {
    await this.edit(this.partitionOf(key, place), (store) => store.delete(key));
  }

  private partitionOf(key: K, { partition }: StorePlace): number {
    if (partition !== undefined) return partition;
    const bytes = this.definition.key.serialize(key);
    return bytes === null ? 0 : partitionForKey(bytes, this.worker().topics.partitionsOfStore(this.definition.name));
  }
}
