/**
 * The scope of one record (or punctuation): what its handlers write, forward and send, until they have returned.
 *
 * Invariants
 * 1. Nothing of a scope is visible outside of it before it joins, and all of it afterwards.
 * 2. A closed scope refuses every call: late writes of a handler that was overtaken by a deadline, an abort or a rebalance go nowhere.
 * 3. While other scopes of the task are open, a scope touches only its own key's state, and what is downstream of its asynchronous
 *    processor waits for the join.
 */
import type { Clock } from '../core/clock.js';
import { RecordClosedError, RecordRefusedError, TallyError, errorOf } from '../core/errors.js';
import { type Headers, type StreamRecord, noHeaders } from '../core/record.js';
import type { Serde } from '../serde/serde.js';
import type { KeyValueCodec } from '../state/key-value-codec.js';
import type { LayeredStore } from '../state/layered-store.js';
import type { StoreOpener } from '../state/stores/open-store.js';
import type { DropReason, ProcessorContext, RecordMetadata, SendOptions } from '../topology/processor.js';
import type { StoreHandle } from '../topology/store-definition.js';
import type { Topic } from '../topology/topic.js';
import type { UntypedStore, UntypedTopic } from '../topology/topology.js';
import type { OutputRecord } from './epoch.js';
import type { GlobalReader } from './global-reader.js';
import type { ProcessorStep, Step } from './graph.js';
import type { RecordTrace } from './hooks.js';
import { serializeOutput, traced } from './output.js';
import { ReadOnlyStore } from './read-only-store.js';
import { ScopedKeyValueStore } from './scoped-store.js';
import type { Task } from './task.js';

/** One store of a task, as scopes use it. */
export interface StoreAccess {
  readonly definition: UntypedStore;
  readonly layered: LayeredStore;
  readonly codec: KeyValueCodec<unknown, unknown>;
  /** @see storeOpener */
  readonly opener: StoreOpener | undefined;
}

/** A topic that records are sent to. */
export interface Destination {
  /** Physical name. */
  readonly name: string;
  readonly partitions: number;
  readonly recordBytesMax: number;
  /** @see Broker.unwritableTimestampMs */
  readonly unwritableTimestampMs: number | undefined;
  /** Counts what was handed to a transaction or a producer. */
  readonly sent: { records: number };
}

/** What a scope needs of its surroundings; one per task. */
export interface ScopeHost {
  readonly task: Task;
  readonly taskId: string;
  readonly clock: Clock;
  readonly handlerDeadlineMs: number;
  /** Bound of a changelog record, in bytes. */
  readonly recordBytesMax: number;
  storeAccess(name: string): StoreAccess | undefined;
  globalStore(name: string): GlobalReader | undefined;
  /** `undefined` while nothing is known of the topic. */
  destination(topic: UntypedTopic): Destination | undefined;
  /** All asynchronous work of the scope has ended, well or with `scope.failure`. */
  settled(scope: RecordScope): void;
}

/** The partition counts of a topic must be known before a record can be sent to it; the record is repeated once they are. */
export class DestinationUnknownError extends TallyError {
  constructor(topic: string) {
    super({
      code: 'DESTINATION_UNKNOWN',
      kind: 'retriable',
      message: `Topic '${topic}' is being looked up; the record is repeated afterwards.`,
      place: { topic },
    });
  }
}

export class HandlerDeadlineError extends TallyError {
  constructor(node: string, deadlineMs: number, at: string) {
    super({
      code: 'HANDLER_DEADLINE',
      kind: 'closed',
      message: `Processor '${node}' did not finish ${at} within ${deadlineMs} ms. Its later writes are refused. Raise deadlineMs, or bound the calls that it makes.`,
      place: { node },
    });
  }
}

/** An asynchronous processor that declares no concurrency, on records that another reader of their topic handles side by side. */
export class ConcurrencyUndeclaredError extends TallyError {
  constructor(node: string) {
    super({
      code: 'CONCURRENCY_UNDECLARED',
      kind: 'invalid',
      message:
        `Processor '${node}' is asynchronous and declares no concurrency, but another reader of its topic handles several records at once. ` +
        `Declare its concurrency too, or none at the other.`,
      place: { node },
    });
  }
}

interface DeferredForward {
  readonly step: Step;
  readonly record: StreamRecord<unknown, unknown>;
  readonly branch: Branch;
}

/**
 * The child of the source through which a step got the record, where the source has several: handlers and topologies that read one topic
 * share the record's scope, and one that rolls back what it did must not take the others' doings with it.
 */
export type Branch = Step | undefined;

export class RecordScope implements RecordMetadata {
  closedReason: string | undefined;
  /** The innermost step at work; after a throw, the one that failed. */
  step: Step | undefined;
  outputs: OutputRecord[] | undefined;
  stores: ScopedKeyValueStore<unknown, unknown>[] | undefined;
  /** Asynchronous calls under way. */
  pending = 0;
  failure: { readonly error: Error; readonly step: Step } | undefined;
  deferred: DeferredForward[] | undefined;
  /** That operators passed over the record. */
  drops: { readonly branch: Branch; readonly reason: DropReason }[] | undefined;
  /** Of a sampled record. */
  trace: RecordTrace | undefined;
  /** Of each output, where there is more than one branch. */
  private outputBranches: Branch[] | undefined;
  /** A topic whose partitions must be looked up before the record can be processed. */
  unresolvedTopic: string | undefined;
  /** The record's key as it was read, and what its bytes are, where what has this key needs not be serialized again. */
  private sourceKey: unknown;
  private sourceKeySerde: Serde<unknown> | undefined;
  private sourceKeyBytes: Uint8Array | null = null;
  /** Actions that take effect when the scope joins, such as a cancelled schedule. */
  onJoin: (() => void)[] | undefined;
  private abortController: AbortController | undefined;
  private cancelDeadlines: (() => void)[] | undefined;

  constructor(
    readonly host: ScopeHost,
    readonly topic: string,
    readonly partition: number,
    readonly offset: number,
    readonly timestampMs: number,
    readonly headers: Headers,
    readonly attempt: number,
    /** Largest timestamp that the task has seen, this record's included; raised once more when the scope is about to join. */
    public streamTimeMs: number,
    /** Set while other scopes may be open: the record's key bytes in map-key form; other keys' state is refused. */
    public ownKey: string | undefined,
  ) {}

  /** The record's key, decoded from these bytes. Of values only: an object may be changed by whoever holds it. */
  keepKey(key: unknown, bytes: Uint8Array | null, serde: Serde<unknown>): void {
    if (bytes === null || serde.isExact !== true || typeof key === 'object') return;
    this.sourceKey = key;
    this.sourceKeyBytes = bytes;
    this.sourceKeySerde = serde;
  }

  /** Bytes of a key where they are known without serializing it. */
  knownKeyBytes(key: unknown, serde: Serde<unknown>): Uint8Array | undefined {
    return serde === this.sourceKeySerde && key === this.sourceKey ? (this.sourceKeyBytes ?? undefined) : undefined;
  }

  get idempotencyKey(): string {
    return `${this.topic}-${this.partition}-${this.offset}`;
  }

  get signal(): AbortSignal {
    this.abortController ??= new AbortController();
    if (this.closedReason !== undefined) this.abortController.abort(this.closedError());
    return this.abortController.signal;
  }

  get isClosed(): boolean {
    return this.closedReason !== undefined;
  }

  check(): void {
    if (this.closedReason !== undefined) throw this.closedError();
  }

  private closedError(): RecordClosedError {
    return new RecordClosedError(
      { topic: this.topic, partition: this.partition, offset: this.offset, task: this.host.taskId },
      this.closedReason ?? 'ended',
    );
  }

  /** Ends the scope: every later call on it throws. */
  close(reason: string): void {
    if (this.closedReason !== undefined) return;
    this.closedReason = reason;
    this.cancelDeadlines?.forEach((cancel) => cancel());
    if (this.pending > 0) this.abortController?.abort(this.closedError());
  }

  /** Forgets everything that was written, forwarded and sent so far, by one branch where there are several. */
  rollback(branch: Branch): void {
    this.stores?.forEach((store) => store.discard(branch));
    if (branch === undefined) {
      this.outputs = undefined;
      this.deferred = undefined;
      this.drops = undefined;
      this.onJoin = undefined;
      return;
    }
    const branches = this.outputBranches;
    this.outputs = this.outputs?.filter((_output, index) => branches?.[index] !== branch);
    this.outputBranches = branches?.filter((each) => each !== branch);
    this.deferred = this.deferred?.filter((forward) => forward.branch !== branch);
    this.drops = this.drops?.filter((each) => each.branch !== branch);
  }

  run(step: Step, record: StreamRecord<unknown, unknown>, branch: Branch): void {
    const outer = this.step;
    this.step = step;
    if (step.kind === 'sink') {
      const topic = typeof step.topic === 'function' ? step.topic(record, this) : step.topic;
      const { key, value, timestampMs, headers } = record;
      const options = step.partition === undefined ? { timestampMs, headers } : { timestampMs, headers, partition: step.partition(record) };
      this.send(topic, key, value, options, branch);
    } else {
      const result = step.processor.process(record, new StepContext(this, step, branch));
      if (result !== undefined && typeof result.then === 'function') this.track(step, result);
    }
    this.step = outer;
  }

  /** Watches an asynchronous call: the scope settles when the last one has ended. */
  track(step: ProcessorStep, result: PromiseLike<void>): void {
    if (this.ownKey !== undefined && step.concurrency === 1) {
      // Its calls would overlap although it was declared to run one at a time. Nobody else will look at what becomes of the promise.
      Promise.resolve(result).catch(() => {});
      throw new ConcurrencyUndeclaredError(step.name);
    }
    this.pending++;
    const deadlineMs = step.deadlineMs ?? this.host.handlerDeadlineMs;
    let ended = false;
    const end = (failure?: unknown): void => {
      if (ended) return;
      ended = true;
      cancel();
      if (this.closedReason !== undefined) return;
      if (failure !== undefined) this.failure ??= { error: errorOf(failure), step };
      this.pending--;
      if (this.pending === 0 || this.failure !== undefined) this.host.settled(this);
    };
    const cancel = this.host.clock.after(deadlineMs, () =>
      end(new HandlerDeadlineError(step.name, deadlineMs, this.offset < 0 ? 'a punctuation' : this.idempotencyKey)),
    );
    (this.cancelDeadlines ??= []).push(cancel);
    result.then(
      () => end(),
      (error: unknown) => end(error ?? new Error(`Processor '${step.name}' rejected with ${String(error)}.`)),
    );
  }

  /** Runs what waited for the join; the scope is now the only one that may touch shared state. */
  runDeferred(): void {
    this.ownKey = undefined;
    const deferred = this.deferred;
    this.deferred = undefined;
    deferred?.forEach(({ step, record, branch }) => this.run(step, record, branch));
  }

  send(topic: UntypedTopic, key: unknown, value: unknown, options: SendOptions, branch: Branch): void {
    this.check();
    const destination = this.host.destination(topic);
    if (destination === undefined) {
      this.unresolvedTopic = topic.name;
      throw new DestinationUnknownError(topic.name);
    }
    const known = this.knownKeyBytes(key, topic.key);
    const output = serializeOutput(this.host.task, topic, destination, key, known, value, options, this.timestampMs);
    const sent = this.trace === undefined ? output : traced(output, this.trace, destination);
    this.outputs = withOneMore(this.outputs, sent);
    if (branch !== undefined) this.outputBranches = withOneMore(this.outputBranches, branch);
  }

  drop(branch: Branch, reason: DropReason): void {
    this.check();
    (this.drops ??= []).push({ branch, reason });
    this.trace?.dropped(reason);
  }

  store(definition: UntypedStore, branch: Branch): ScopedKeyValueStore<unknown, unknown> {
    this.check();
    const { stores } = this;
    let sibling: ScopedKeyValueStore<unknown, unknown> | undefined;
    if (stores !== undefined)
      for (let index = 0; index < stores.length; index++) {
        const store = stores[index] as ScopedKeyValueStore<unknown, unknown>;
        if (store.access.definition.name !== definition.name) continue;
        if (store.branch === branch) return store;
        sibling ??= store;
      }
    const access = this.host.storeAccess(definition.name);
    if (access === undefined) {
      throw new RecordRefusedError('STORE_UNKNOWN', `Store '${definition.name}' is not part of this task's topology.`, {
        store: definition.name,
        task: this.host.taskId,
      });
    }
    const store = new ScopedKeyValueStore<unknown, unknown>(this, access, branch, sibling);
    this.stores = withOneMore(stores, store);
    return store;
  }
}

/** Most records have few of a kind: an array that is written down has room for its entries, one that an entry is pushed on has room for 17. */
function withOneMore<T>(list: T[] | undefined, entry: T): T[] {
  if (list === undefined) return [entry];
  if (list.length === 1) return [list[0] as T, entry];
  if (list.length === 2) return [list[0] as T, list[1] as T, entry];
  list.push(entry);
  return list;
}

/** A processor's view of the scope; a new one for each call. */
class StepContext implements ProcessorContext {
  constructor(
    private readonly scope: RecordScope,
    private readonly step: ProcessorStep,
    private readonly branch: Branch,
  ) {}

  get taskId(): string {
    return this.scope.host.taskId;
  }

  get record(): RecordMetadata {
    return this.scope;
  }

  get streamTimeMs(): number {
    return this.scope.streamTimeMs;
  }

  get nowMs(): number {
    return this.scope.host.clock.nowMs();
  }

  get signal(): AbortSignal {
    return this.scope.signal;
  }

  forward(record: StreamRecord<unknown, unknown>, child?: string): void {
    this.scope.check();
    const children = this.step.children;
    if (child !== undefined && !children.some((candidate) => candidate.name === child)) {
      throw new RecordRefusedError(
        'CHILD_UNKNOWN',
        `Processor '${this.step.name}' has no child '${child}'; it has: ${children.map((each) => each.name).join(', ') || 'none'}.`,
        {
          node: this.step.name,
        },
      );
    }
    for (const next of children) {
      if (child !== undefined && next.name !== child) continue;
      if (this.scope.ownKey !== undefined && this.step.concurrency > 1)
        (this.scope.deferred ??= []).push({ step: next, record, branch: this.branch });
      else this.scope.run(next, record, this.branch);
    }
  }

  send<K, V>(topic: Topic<K, V>, key: NoInfer<K>, value: NoInfer<V>, options?: SendOptions): void {
    this.scope.send(topic as UntypedTopic, key, value, options ?? noOptions, this.branch);
  }

  rollback(): void {
    this.scope.check();
    this.scope.rollback(this.branch);
  }

  drop(reason: DropReason): void {
    this.scope.drop(this.branch, reason);
  }

  advanceTime(definition: StoreHandle<unknown>, timestampMs: number): number {
    return this.scopedStore(definition).advanceTime(this.step.name, timestampMs);
  }

  store<S>(definition: StoreHandle<S>): S {
    const topic = this.step.readOnly?.get(definition.name);
    if (topic !== undefined) return this.readOnlyStore(definition, topic) as object as S;
    return this.scopedStore(definition).opened as S;
  }

  private readOnlyStore(definition: StoreHandle<unknown>, topic: string): ReadOnlyStore {
    const { scope } = this;
    const rows = scope.host.globalStore(definition.name) ?? this.scopedStore(definition);
    return new ReadOnlyStore(rows, definition.name, topic, () => scope.check());
  }

  private scopedStore(definition: StoreHandle<unknown>): ScopedKeyValueStore<unknown, unknown> {
    if (!this.step.stores.has(definition.name)) {
      throw new RecordRefusedError(
        'STORE_UNDECLARED',
        `Processor '${this.step.name}' uses store '${definition.name}' without having declared it. Add it to the processor's stores.`,
        {
          node: this.step.name,
          store: definition.name,
        },
      );
    }
    return this.scope.store(definition as unknown as UntypedStore, this.branch);
  }
}

const noOptions: SendOptions = Object.freeze({});

/** A context for a step outside of `process`: punctuations. */
export function contextOf(scope: RecordScope, step: ProcessorStep): ProcessorContext {
  return new StepContext(scope, step, undefined);
}

export { noHeaders };
