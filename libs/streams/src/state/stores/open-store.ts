/** Opens stores of all kinds over their entries. */
import type { UntypedStore } from '../../topology/store-definition.js';
import type { KeyValueCodec } from '../key-value-codec.js';
import { ExpiringStoreReader, ExpiringStoreShape, ScopedExpiringStore } from './expiring-store.js';
import { ScopedSessionStore, SessionStoreReader, SessionStoreShape } from './session-store.js';
import { ScopedSortedStore, SortedStoreReader } from './sorted-store.js';
import type { ReadableEntries, ScopedEntries } from './store-entries.js';
import { ScopedVersionedStore, VersionedStoreReader, VersionedStoreShape } from './versioned-store.js';
import { ScopedWindowStore, WindowStoreReader, WindowStoreShape } from './window-store.js';

/** How a store is made of its entries; one for a store and task. */
export interface StoreOpener {
  /** For the scope of a record. */
  open(entries: ScopedEntries): object;
  /** For queries. */
  openReader(entries: ReadableEntries): object;
}

/** `undefined` for key-value stores without a time-to-live: their entries are the store's own. */
export function storeOpener(definition: UntypedStore, codec: KeyValueCodec<unknown, unknown>): StoreOpener | undefined {
  switch (definition.kind) {
    case 'keyValue': {
      if (definition.ttlMs === undefined) return undefined;
      const shape = new ExpiringStoreShape(definition, codec, definition.ttlMs);
      return {
        open: (entries) => new ScopedExpiringStore(shape, entries),
        openReader: (entries) => new ExpiringStoreReader(shape, entries),
      };
    }
    case 'window': {
      const shape = new WindowStoreShape(definition, codec);
      return { open: (entries) => new ScopedWindowStore(shape, entries), openReader: (entries) => new WindowStoreReader(shape, entries) };
    }
    case 'session': {
      const shape = new SessionStoreShape(definition, codec);
      return { open: (entries) => new ScopedSessionStore(shape, entries), openReader: (entries) => new SessionStoreReader(shape, entries) };
    }
    case 'versioned': {
      const shape = new VersionedStoreShape(definition, codec);
      return {
        open: (entries) => new ScopedVersionedStore(shape, entries),
        openReader: (entries) => new VersionedStoreReader(shape, entries),
      };
    }
    case 'sorted':
      return { open: (entries) => new ScopedSortedStore(codec, entries), openReader: (entries) => new SortedStoreReader(codec, entries) };
  }
}
