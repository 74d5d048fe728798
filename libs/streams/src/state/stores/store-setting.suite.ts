/* oxlint-disable vitest/no-standalone-expect -- called from within tests */
/** One store of one task over a real task state, with scopes as the runtime makes them, and a changelog. For tests of stores. */
import { noHeaders } from '../../core/record.js';
import { type Branch, RecordScope, type ScopeHost } from '../../runtime/scope.js';
import { type StoreHandle, untypedStore, type UntypedStore } from '../../topology/store-definition.js';
import { keyValueCodec } from '../key-value-codec.js';
import { GuardedEngine } from '../guarded-engine.suite.js';
import { physicalKeyOf } from '../map-key.js';
import { MemoryEngine } from '../memory-engine.js';
import { type DirtyEntry, TaskState } from '../task-state.js';
import { storeOpener } from './open-store.js';

const branchStep = { kind: 'sink', name: 'branch', errors: undefined } as unknown as NonNullable<Branch>;
const otherBranchStep = { ...branchStep, name: 'other' } as NonNullable<Branch>;

export class StoreSetting<S extends object> {
  private state!: TaskState;
  private host!: ScopeHost;
  private readonly engine = new GuardedEngine(new MemoryEngine());
  private directory = 0;
  private readonly changelog: DirtyEntry[] = [];
  private readonly definition: UntypedStore;

  private constructor(handle: StoreHandle<S>) {
    this.definition = untypedStore(handle);
  }

  static async open<S extends object>(handle: StoreHandle<S>): Promise<StoreSetting<S>> {
    const setting = new StoreSetting(handle);
    await setting.openState();
    return setting;
  }

  /** A record that is processed. Asynchronous calls of the database throw meanwhile. */
  record<Result>(timestampMs: number, work: (store: S) => Result): Result {
    const scope = this.scope(timestampMs);
    const result = work(this.storeOf(scope, undefined));
    this.join(scope);
    return result;
  }

  /** A record that fails after it has done its work. */
  failedRecord(timestampMs: number, work: (store: S) => void): void {
    const scope = this.scope(timestampMs);
    work(this.storeOf(scope, undefined));
    scope.close('failed');
  }

  /** A record with two readers, who take turns; then the first one takes back what it has done. */
  sharedRecord(timestampMs: number, work: (rolledBack: S, kept: S) => void): void {
    const scope = this.scope(timestampMs);
    work(this.storeOf(scope, branchStep), this.storeOf(scope, otherBranchStep));
    scope.rollback(branchStep);
    this.join(scope);
  }

  read<Result>(work: (store: S) => Result): Result {
    return work(this.storeOf(this.scope(0), undefined));
  }

  /** As `read`, with asynchronous calls. */
  async readLater<Result>(work: (store: S) => Promise<Result>): Promise<Result> {
    return this.engine.asynchronously(() => work(this.storeOf(this.scope(0), undefined)));
  }

  /** What queries read. */
  async query<Result>(work: (store: S) => Promise<Result>): Promise<Result> {
    const layered = this.state.store(this.definition.name);
    const reader = storeOpener(this.definition, keyValueCodec(this.definition))?.openReader({
      getEntry: (mapKey) => layered.getCommitted(mapKey),
      entriesBetween: (from, to) => layered.range({ from, to, view: 'committed' }),
    });
    return this.engine.asynchronously(() => work(reader as S));
  }

  commit(): void {
    this.state.freeze();
    for (const { committing } of this.state.dirtyStores()) {
      this.changelog.push(...committing.map(({ mapKey, committing: value = null }) => ({ key: physicalKeyOf(mapKey), value })));
    }
    this.state.confirm();
  }

  abort(): void {
    this.state.discardOpen();
  }

  async flush(): Promise<void> {
    await this.engine.asynchronously(() => this.state.flush(new Map([[this.definition.name, this.position()]])));
  }

  /** The process ends; what was not flushed comes from the changelog. */
  async reopen(): Promise<void> {
    await this.engine.asynchronously(async () => {
      await this.state.close();
      await this.openState();
      await this.replay();
    });
  }

  /** The disk is lost. */
  async restore(): Promise<void> {
    await this.engine.asynchronously(async () => {
      await this.state.close();
      this.directory++;
      await this.openState();
      await this.replay();
    });
  }

  /** Entries that the committed state has, all kinds together. */
  get entryCount(): number {
    const last = new Map(this.changelog.map(({ key, value }) => [Buffer.from(key).toString('latin1'), value]));
    return [...last.values()].filter((value) => value !== null).length;
  }

  /** Largest entry that was ever committed, in bytes. */
  get largestEntryBytes(): number {
    return Math.max(0, ...this.changelog.map(({ value }) => value?.length ?? 0));
  }

  async close(): Promise<void> {
    await this.engine.asynchronously(() => this.state.close());
  }

  private async openState(): Promise<void> {
    await this.engine.asynchronously(async () => {
      const { engine, definition } = this;
      this.state = await TaskState.open({
        engine,
        directory: `task-${this.directory}`,
        task: 'task/0',
        stores: [definition],
        cacheBytesMax: 2000,
      });
      const codec = keyValueCodec(definition);
      const access = { definition, layered: this.state.store(definition.name), codec, opener: storeOpener(definition, codec) };
      this.host = { taskId: 'task/0', recordBytesMax: 1_000_000, storeAccess: () => access } as unknown as ScopeHost;
    });
  }

  private async replay(): Promise<void> {
    await this.state.applyRestored(this.definition.name, this.changelog, this.position());
  }

  private position() {
    return { offset: this.changelog.length, dateMs: 0, topicId: 'topic' };
  }

  private scope(timestampMs: number): RecordScope {
    return new RecordScope(this.host, 'topic', 0, 0, timestampMs, noHeaders, 1, timestampMs, undefined);
  }

  private storeOf(scope: RecordScope, branch: Branch): S {
    return scope.store(this.definition, branch).opened as S;
  }

  private join(scope: RecordScope): void {
    scope.stores?.forEach((store) => store.join());
    scope.close('processed');
  }
}
