/**
 * Which rows of the left table of a foreign-key join refer to which row of the right one, in a sorted store: those of a foreign key lie together, in the byte
 * order of their primary keys.
 *
 *   key   := escapedKey primaryKey        (of the foreign key, with 0x01 before it; core/sortable.ts)
 *   value := partition:u32 hash:16
 */
import { concatBytes } from '../core/bytes.js';
import { escapedKey, readWord, writeWord } from '../core/sortable.js';
import type { Subscription } from '../serde/foreign-key.js';
import type { Serde } from '../serde/serde.js';
import { type SortedStore, type SortedStoreDefinition, sortedStore } from '../topology/sorted-store.js';
import { madeBytes } from './made-bytes.js';
import type { ReadingContext } from './table.js';

const keyTag = 1;
const partitionBytes = 4;

/** Entries that are read at once. */
const batchMax = 256;

/** One left row that refers to a right one. */
export interface Subscriber<K> {
  readonly primaryKey: K;
  readonly rowHash: Uint8Array;
  readonly partition: number;
}

/** Declares the store, and opens it for the record in hand. */
export class SubscriptionStore<K, FK> {
  readonly store: SortedStoreDefinition<Uint8Array, Uint8Array>;

  constructor(
    name: string,
    private readonly primaryKey: Serde<K>,
    private readonly foreignKey: Serde<FK>,
  ) {
    this.store = sortedStore(name, { key: madeBytes('subscriptionKey', foreignKey, primaryKey), value: madeBytes('subscriber') });
  }

  put(context: ReadingContext, foreignKey: FK, { primaryKey, rowHash, partition }: Subscription<K>): void {
    const value = Buffer.allocUnsafe(partitionBytes);
    writeWord(value, 0, partition);
    this.open(context).put(this.keyOf(foreignKey, primaryKey), concatBytes(value, rowHash ?? new Uint8Array()));
  }

  delete(context: ReadingContext, foreignKey: FK, primaryKey: K): void {
    this.open(context).delete(this.keyOf(foreignKey, primaryKey));
  }

  /** Shows who refers to the key, in the byte order of the primary keys. The store must not be written meanwhile. */
  forEach(context: ReadingContext, foreignKey: FK, visit: (subscriber: Subscriber<K>) => void): void {
    const entries = this.open(context);
    const prefix = this.prefixOf(foreignKey);
    const end = endOf(prefix);
    let from = prefix;
    for (;;) {
      const batch = entries.range(from, end, batchMax);
      for (const [key, value] of batch) {
        const primaryKey = this.primaryKey.deserialize(key.subarray(prefix.length));
        visit({ primaryKey, partition: readWord(value, 0), rowHash: value.subarray(partitionBytes) });
      }
      const last = batch.at(-1);
      if (last === undefined || batch.length < batchMax) return;
      from = concatBytes(last[0], Uint8Array.of(0));
    }
  }

  private open(context: ReadingContext): SortedStore<Uint8Array, Uint8Array> {
    return context.store(this.store);
  }

  private keyOf(foreignKey: FK, primaryKey: K): Uint8Array {
    return concatBytes(this.prefixOf(foreignKey), this.primaryKey.serialize(primaryKey) ?? new Uint8Array());
  }

  private prefixOf(foreignKey: FK): Uint8Array {
    return escapedKey(keyTag, this.foreignKey.serialize(foreignKey) ?? new Uint8Array());
  }
}

/** Behind all that begins with the prefix, and before the next foreign key: an escaped key ends with zeros. */
function endOf(prefix: Uint8Array): Uint8Array {
  const end = Uint8Array.from(prefix);
  end[end.length - 1] = 1;
  return end;
}
