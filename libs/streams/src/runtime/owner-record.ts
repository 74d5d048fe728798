/**
 * The reserved entry `owner` of each store: which sub-topology writes it, with which sources, and how its entries are encoded. Part of the
 * changelog, so that it is known on a new disk too.
 *
 *     ownerRecord := JSON object
 *       subTopology, version, hash   of the topology that wrote it
 *       sources                      topics that the sub-topology reads or has read: its state is made of their records
 *       store                        { kind, version, key, value } of the store, serdes by name; { layout } where entries are not as the kind has
 *                                    them: "duplicates" of a window store that keeps them, "expiring" of a key-value store with a time-to-live
 */
import { CorruptDataError, InvalidConfigurationError } from '../core/errors.js';
import type { SubTopology, Topology, UntypedStore } from '../topology/topology.js';

export interface OwnerRecord {
  readonly subTopology: string;
  readonly version: number;
  readonly hash: string;
  readonly sources: readonly string[];
  readonly store: {
    readonly kind: string;
    readonly version: number;
    readonly key: string;
    readonly value: string;
    readonly layout?: string;
  };
}

/**
 * @param inputs names of the sources that the task reads
 * @param formerSources as recorded before: a topic that was left out for a while must not be taken for a new one.
 */
export function ownerRecordOf(
  topology: Topology,
  sub: SubTopology,
  store: UntypedStore,
  inputs: readonly string[],
  formerSources: readonly string[],
): OwnerRecord {
  return {
    subTopology: sub.id,
    version: topology.version,
    hash: topology.hash,
    sources: [...new Set([...formerSources, ...inputs])].sort(),
    store: { kind: store.kind, version: store.version, key: store.key.name, value: store.value.name, ...layoutOf(store) },
  };
}

function layoutOf(store: UntypedStore): { readonly layout?: string } {
  if (store.kind === 'window' && store.retainDuplicates) return { layout: 'duplicates' };
  return store.kind === 'keyValue' && store.ttlMs !== undefined ? { layout: 'expiring' } : {};
}

/** A plain store may begin to expire; what it holds already expires once it is written again. */
function isReadableLayout(recorded: string | undefined, now: string | undefined): boolean {
  return recorded === now || (recorded === undefined && now === 'expiring');
}

export function encodeOwnerRecord(record: OwnerRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record), 'utf8');
}

export function decodeOwnerRecord(store: string, bytes: Uint8Array): OwnerRecord {
  try {
    const parsed = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<OwnerRecord>;
    if (
      typeof parsed.subTopology === 'string' &&
      typeof parsed.version === 'number' &&
      Array.isArray(parsed.sources) &&
      typeof parsed.store?.kind === 'string'
    ) {
      return parsed as OwnerRecord;
    }
  } catch {
    // Reported below, with the store's name.
  }
  throw new CorruptDataError('OWNER_RECORD_CORRUPT', `The owner record of store '${store}' cannot be read.`, { store });
}

/**
 * Refuses to run on state that another topology wrote.
 * @throws InvalidConfigurationError naming the store and the difference.
 */
export function checkOwner(store: string, recorded: OwnerRecord, now: OwnerRecord): void {
  const refuse = (code: string, message: string): never => {
    throw new InvalidConfigurationError(code, message, { store });
  };
  if (recorded.version > now.version) {
    refuse(
      'TOPOLOGY_NEWER',
      `Store '${store}' was written by version ${recorded.version} of the topology; this is version ${now.version}. Deploy the newer version.`,
    );
  }
  if (recorded.subTopology !== now.subTopology) {
    refuse(
      'STORE_OWNER_CHANGED',
      `Store '${store}' belongs to sub-topology '${recorded.subTopology}', and now '${now.subTopology}' declares it. Give the sub-topology its former name or sources, or use a new store name.`,
    );
  }
  if (recorded.store.kind !== now.store.kind || recorded.store.key !== now.store.key) {
    refuse(
      'STORE_INCOMPATIBLE',
      `Store '${store}' holds ${recorded.store.kind} entries with keys written by '${recorded.store.key}'; now it is declared as ${now.store.kind} with '${now.store.key}'. Use a new store name.`,
    );
  }
  if (!isReadableLayout(recorded.store.layout, now.store.layout)) {
    refuse(
      'STORE_INCOMPATIBLE',
      `Store '${store}' holds ${recorded.store.layout ?? 'single'} ${recorded.store.kind} entries; now it is declared for ${now.store.layout ?? 'single'} ones (retainDuplicates or ttlMs has changed). Use a new store name, or the former option.`,
    );
  }
  if (recorded.store.version > now.store.version) {
    refuse(
      'STORE_NEWER',
      `Store '${store}' holds values of version ${recorded.store.version}; this application knows up to ${now.store.version}. Deploy the newer application.`,
    );
  }
  if (recorded.store.version === now.store.version && recorded.store.value !== now.store.value) {
    refuse(
      'STORE_INCOMPATIBLE',
      `Store '${store}' holds values written by '${recorded.store.value}'; now it is declared with '${now.store.value}'. Raise the store's version and give it 'migrate', or use a new store name.`,
    );
  }
}
