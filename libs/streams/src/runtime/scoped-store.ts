/**
 * A store as one record's scope sees it: its own writes over everything that has joined before. A plain key-value store is this very
 * object; those of other kinds are made of its entries.
 */
import { assert } from '../core/assert.js';
import { RecordRefusedError } from '../core/errors.js';
import { physicalKeyBytes } from '../state/map-key.js';
import { operatorTimeMs, raiseOperatorTime } from '../state/stores/operator-time.js';
import type { ScopedEntries } from '../state/stores/store-entries.js';
import type { KeyValueStore } from '../topology/store-definition.js';
import { ScopeWrites } from './scope-writes.js';
import type { Branch, RecordScope, StoreAccess } from './scope.js';

/** A write; where there are several branches, over what another one has written to the same key before. */
interface ScopedWrite {
  /** Null deletes. */
  readonly value: Uint8Array | null;
  readonly branch: Branch;
  readonly under: ScopedWrite | undefined;
}

/** A change of several entries: made again when a change before it is taken back. */
interface ScopedChange {
  readonly branch: Branch;
  readonly write: () => void;
}

export class ScopedKeyValueStore<K, V> implements KeyValueStore<K, V>, ScopedEntries {
  private writes: ScopeWrites<ScopedWrite> | undefined;
  /** Where there are several branches and the store is of another kind: what they have changed, in order. */
  private changes: ScopedChange[] | undefined;
  private other: object | undefined;
  /** Holds the writes of all branches, so that each reads what the others have written. */
  private readonly owner: ScopedKeyValueStore<K, V>;

  constructor(
    private readonly scope: RecordScope,
    readonly access: StoreAccess,
    readonly branch: Branch,
    sibling: ScopedKeyValueStore<K, V> | undefined,
  ) {
    this.owner = sibling ?? this;
  }

  /** What processors get. */
  get opened(): object {
    const { opener } = this.access;
    if (opener === undefined) return this;
    return (this.other ??= opener.open(this));
  }

  get(key: K): V | undefined {
    const stored = this.read(key);
    return stored === undefined ? undefined : (this.access.codec.readValue(stored) as V);
  }

  getWithTimestamp(key: K): { readonly value: V; readonly timestampMs: number } | undefined {
    const stored = this.read(key);
    return stored === undefined ? undefined : (this.access.codec.decodeValue(stored) as { value: V; timestampMs: number });
  }

  put(key: K, value: V): void {
    this.putWithTimestamp(key, value, this.scope.timestampMs);
  }

  putWithTimestamp(key: K, value: V, timestampMs: number): void {
    this.write(key, this.access.codec.encodeValue(value, timestampMs));
  }

  delete(key: K): void {
    this.write(key, null);
  }

  range(from: K, to: K): AsyncIterable<readonly [K, V]> {
    this.checkAlone();
    return this.entries(this.access.codec.encodeKey(from), this.access.codec.encodeKey(to));
  }

  all(): AsyncIterable<readonly [K, V]> {
    this.checkAlone();
    return this.entries(undefined, undefined);
  }

  // ---- ScopedEntries: for stores of other kinds --------------------------------------------------------------------------------------

  get timestampMs(): number {
    return this.scope.timestampMs;
  }

  getEntry(mapKey: string): Uint8Array | undefined {
    this.scope.check();
    this.checkShared();
    return this.readEntry(mapKey);
  }

  putEntry(mapKey: string, value: Uint8Array | null): void {
    this.scope.check();
    this.checkShared();
    this.checkBytes(mapKey, value);
    (this.owner.writes ??= new ScopeWrites()).set(mapKey, { value, branch: undefined, under: undefined });
  }

  change(write: () => void): void {
    write();
    if (this.branch !== undefined) (this.owner.changes ??= []).push({ branch: this.branch, write });
  }

  entriesBetween(from: Uint8Array | undefined, to: Uint8Array | undefined): AsyncIterable<readonly [Uint8Array, Uint8Array]> {
    this.checkShared();
    return this.physicalEntries(from, to);
  }

  /** @see ProcessorContext.advanceTime */
  advanceTime(node: string, timestampMs: number): number {
    assert(
      this.access.opener !== undefined,
      `store '${this.access.definition.name}' keeps time or order, and so may keep that of '${node}'`,
    );
    const observedMs = operatorTimeMs(this, node);
    if (timestampMs <= observedMs) return observedMs;
    this.change(() => raiseOperatorTime(this, node, timestampMs));
    return timestampMs;
  }

  // ------------------------------------------------------------------------------------------------------------------------------------

  /** Forgets this scope's writes, those of one branch where there are several. */
  discard(branch: Branch): void {
    const { changes } = this;
    this.changes = undefined;
    if (branch === undefined || this.writes === undefined) {
      this.writes = undefined;
      return;
    }
    if (changes !== undefined) {
      this.writes = undefined;
      this.changes = changes.filter((change) => change.branch !== branch);
      for (const { write } of this.changes) write();
      return;
    }
    const kept = new ScopeWrites<ScopedWrite>();
    this.writes.forEach((write, mapKey) => {
      const left = without(write, branch);
      if (left !== undefined) kept.set(mapKey, left);
    });
    this.writes = kept;
  }

  /** Moves this scope's writes into the open epoch. */
  join(): void {
    const { layered } = this.access;
    this.writes?.forEach((write, mapKey) => layered.put(mapKey, write.value));
    this.writes = undefined;
  }

  private read(key: K): Uint8Array | undefined {
    this.scope.check();
    const mapKey = this.access.codec.mapKey(key);
    this.checkOwner(mapKey);
    return this.readEntry(mapKey);
  }

  private readEntry(mapKey: string): Uint8Array | undefined {
    const written = this.owner.writes?.get(mapKey);
    if (written !== undefined) return written.value ?? undefined;
    return this.access.layered.get(mapKey);
  }

  private write(key: K, value: Uint8Array | null): void {
    this.scope.check();
    const mapKey = this.access.codec.mapKey(key);
    this.checkOwner(mapKey);
    this.checkBytes(mapKey, value);
    const { branch, owner } = this;
    const writes = (owner.writes ??= new ScopeWrites());
    const before = branch === undefined ? undefined : writes.get(mapKey);
    writes.set(mapKey, { value, branch, under: before?.branch === branch ? before?.under : before });
  }

  private checkBytes(mapKey: string, value: Uint8Array | null): void {
    const bytes = physicalKeyBytes(mapKey) + (value?.length ?? 0);
    if (bytes <= this.scope.host.recordBytesMax) return;
    const { name } = this.access.definition;
    throw new RecordRefusedError(
      'RECORD_TOO_LARGE',
      `An entry of ${bytes} bytes in store '${name}' is larger than its changelog takes: ${this.scope.host.recordBytesMax} bytes (maxRecordBytes).`,
      { store: name, task: this.scope.host.taskId },
    );
  }

  private checkOwner(mapKey: string): void {
    if (this.scope.ownKey !== undefined && mapKey !== this.scope.ownKey) this.refuseForeign();
  }

  /** What such a store knows of time and order belongs to all keys. */
  private checkShared(): void {
    if (this.scope.ownKey === undefined) return;
    const { name } = this.access.definition;
    throw new RecordRefusedError(
      'FOREIGN_KEY_STATE',
      `Store '${name}' keeps time or order across keys, so it cannot be used while several records of a task are in hand. Use concurrency 1 for all readers of the topic.`,
      { store: name, task: this.scope.host.taskId },
    );
  }

  /** A range holds other keys. */
  private checkAlone(): void {
    if (this.scope.ownKey !== undefined) this.refuseForeign();
  }

  private refuseForeign(): never {
    const { name } = this.access.definition;
    throw new RecordRefusedError(
      'FOREIGN_KEY_STATE',
      `A concurrent handler may only touch the state of its own record's key; in store '${name}' it touched another one, which a handler in flight might change at the same time. Use concurrency 1, or re-key the stream.`,
      { store: name, task: this.scope.host.taskId },
    );
  }

  private async *entries(from: Uint8Array | undefined, to: Uint8Array | undefined): AsyncGenerator<readonly [K, V]> {
    const { codec } = this.access;
    for await (const [key, value] of this.physicalEntries(from, to)) yield [codec.decodeKey(key) as K, codec.decodeValue(value).value as V];
  }

  private async *physicalEntries(
    from: Uint8Array | undefined,
    to: Uint8Array | undefined,
  ): AsyncGenerator<readonly [Uint8Array, Uint8Array], void> {
    this.scope.check();
    const overlay = new Map<string, Uint8Array | null>();
    this.owner.writes?.forEach(({ value }, mapKey) => overlay.set(mapKey, value));
    for await (const entry of this.access.layered.range({ from, to, view: 'open', overlay })) {
      this.scope.check();
      yield entry;
      this.scope.check();
    }
  }
}

function without(write: ScopedWrite | undefined, branch: Branch): ScopedWrite | undefined {
  if (write === undefined) return undefined;
  const under = without(write.under, branch);
  if (write.branch === branch) return under;
  return under === write.under ? write : { ...write, under };
}
