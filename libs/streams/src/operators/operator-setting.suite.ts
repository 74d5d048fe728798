/** One operator of one task over real stores, with scopes as the runtime makes them, and a changelog for each store. For tests of operators. */
import { assert } from '../core/assert.js';
import { noHeaders, type StreamRecord } from '../core/record.js';
import { RecordScope, type ScopeHost } from '../runtime/scope.js';
import { keyValueCodec } from '../state/key-value-codec.js';
import { GuardedEngine } from '../state/guarded-engine.suite.js';
import { physicalKeyOf } from '../state/map-key.js';
import { MemoryEngine } from '../state/memory-engine.js';
import { storeOpener } from '../state/stores/open-store.js';
import { type DirtyEntry, TaskState } from '../state/task-state.js';
import type { DropReason, Processor, ProcessorContext } from '../topology/processor.js';
import { type AnyStoreDefinition, type StoreHandle, untypedStore } from '../topology/store-definition.js';

/** What an operator made of a record. */
export interface Outcome<K, V> {
  readonly forwarded: readonly StreamRecord<K, V>[];
  readonly dropped: readonly DropReason[];
}

export class OperatorSetting<KIn, VIn, K, V> {
  private state!: TaskState;
  private host!: ScopeHost;
  private processor!: Processor<KIn, VIn, K, V>;
  private readonly engine = new GuardedEngine(new MemoryEngine());
  private directory = 0;
  private readonly changelogs = new Map<string, DirtyEntry[]>();

  private constructor(
    private readonly create: () => Processor<KIn, VIn, K, V>,
    private readonly stores: readonly AnyStoreDefinition[],
  ) {}

  static async open<KIn, VIn, K, V>(
    create: () => Processor<KIn, VIn, K, V>,
    stores: readonly AnyStoreDefinition[],
  ): Promise<OperatorSetting<KIn, VIn, K, V>> {
    const setting = new OperatorSetting(create, stores);
    await setting.openState();
    return setting;
  }

  /** Processes a record. Asynchronous calls of the database throw meanwhile. */
  process(record: StreamRecord<KIn, VIn>): Outcome<K, V> {
    const scope = this.scope(record.timestampMs);
    const outcome = this.run(scope, record);
    scope.stores?.forEach((store) => store.join());
    scope.close('processed');
    return outcome;
  }

  /** Processes a record that fails behind the operator. */
  fail(record: StreamRecord<KIn, VIn>): Outcome<K, V> {
    const scope = this.scope(record.timestampMs);
    const outcome = this.run(scope, record);
    scope.close('failed');
    return outcome;
  }

  /** Writes as another processor does that uses the store. */
  write<S>(handle: StoreHandle<S>, work: (store: S) => void): void {
    const scope = this.scope(0);
    work(scope.store(untypedStore(handle), undefined).opened as S);
    scope.stores?.forEach((store) => store.join());
    scope.close('processed');
  }

  read<S, Result>(handle: StoreHandle<S>, work: (store: S) => Result): Result {
    return work(this.scope(0).store(untypedStore(handle), undefined).opened as S);
  }

  /** Reads the whole store. */
  async list<S, T>(handle: StoreHandle<S>, entries: (store: S) => AsyncIterable<T>): Promise<T[]> {
    return this.engine.asynchronously(async () => {
      const all: T[] = [];
      for await (const entry of this.read(handle, entries)) all.push(entry);
      return all;
    });
  }

  commit(): void {
    this.state.freeze();
    for (const { name, committing } of this.state.dirtyStores()) {
      this.changelogs.set(name, [
        ...(this.changelogs.get(name) ?? []),
        ...committing.map(({ mapKey, committing: value = null }) => ({ key: physicalKeyOf(mapKey), value })),
      ]);
    }
    this.state.confirm();
  }

  /** Takes everything back that was not committed. */
  abort(): void {
    this.state.discardOpen();
    this.processor = this.create();
  }

  /** The disk is lost: stores come from their changelogs. */
  async restore(): Promise<void> {
    await this.engine.asynchronously(async () => {
      await this.state.close();
      this.directory++;
      await this.openState();
      for (const [name, entries] of this.changelogs) {
        await this.state.applyRestored(name, entries, { offset: entries.length, dateMs: 0, topicId: 'topic' });
      }
    });
  }

  private async openState(): Promise<void> {
    const definitions = this.stores.map((store) => untypedStore(store as unknown as StoreHandle<unknown>));
    this.state = await this.engine.asynchronously(() =>
      TaskState.open({
        engine: this.engine,
        directory: `task-${this.directory}`,
        task: 'task/0',
        stores: definitions,
        cacheBytesMax: 2000,
      }),
    );
    const accesses = new Map(
      definitions.map((definition) => {
        const codec = keyValueCodec(definition);
        return [definition.name, { definition, layered: this.state.store(definition.name), codec, opener: storeOpener(definition, codec) }];
      }),
    );
    this.host = {
      taskId: 'task/0',
      recordBytesMax: 1_000_000,
      storeAccess: (name: string) => accesses.get(name),
    } as unknown as ScopeHost;
    this.processor = this.create();
  }

  private run(scope: RecordScope, record: StreamRecord<KIn, VIn>): Outcome<K, V> {
    const forwarded: StreamRecord<K, V>[] = [];
    const dropped: DropReason[] = [];
    const context = {
      forward: (next: StreamRecord<K, V>) => void forwarded.push(next),
      drop: (reason: DropReason) => void dropped.push(reason),
      store: (handle: StoreHandle<unknown>) => scope.store(untypedStore(handle), undefined).opened,
      advanceTime: (handle: StoreHandle<unknown>, timestampMs: number) =>
        scope.store(untypedStore(handle), undefined).advanceTime('node', timestampMs),
    } as unknown as ProcessorContext<K, V>;
    const result: unknown = this.processor.process(record, context);
    assert(result === undefined, 'an operator works at once');
    return { forwarded, dropped };
  }

  private scope(timestampMs: number): RecordScope {
    return new RecordScope(this.host, 'topic', 0, 0, timestampMs, noHeaders, 1, timestampMs, undefined);
  }
}
