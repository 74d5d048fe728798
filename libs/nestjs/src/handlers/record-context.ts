import {
  type Headers,
  type ProcessorContext,
  RecordClosedError,
  type SendOptions,
  type StoreHandle,
  type StreamRecord,
  type Topic,
} from '@tally/streams';
import type { StreamContext } from '../interfaces/index.js';
import { fencedStore } from './fenced-store.js';

/**
 * Tells whether the run of a handler still counts. An interceptor may give up on a handler that goes on running (`timeout`, `race`); what
 * that one then writes must not be added to what a filter decides, although the record itself is still open.
 */
export interface Fence {
  isOpen: boolean;
}

/** The context of one record: the runtime's scope under the names of the public interface. */
export class RecordContext<K = unknown> implements StreamContext<K> {
  private fence: Fence | undefined;

  constructor(
    private readonly record: StreamRecord<K, unknown>,
    readonly scope: ProcessorContext,
  ) {
    this.fence = undefined;
  }

  get key(): K {
    return this.record.key;
  }
  get timestampMs(): number {
    return this.record.timestampMs;
  }
  get headers(): Headers {
    return this.record.headers;
  }
  get topic(): string {
    return this.scope.record.topic;
  }
  get partition(): number {
    return this.scope.record.partition;
  }
  get offset(): number {
    return this.scope.record.offset;
  }
  get attempt(): number {
    return this.scope.record.attempt;
  }
  get idempotencyKey(): string {
    return this.scope.record.idempotencyKey;
  }
  get streamTimeMs(): number {
    return this.scope.streamTimeMs;
  }
  get nowMs(): number {
    return this.scope.nowMs;
  }
  get taskId(): string {
    return this.scope.taskId;
  }
  get signal(): AbortSignal {
    return this.scope.signal;
  }

  send<TK, TV>(topic: Topic<TK, TV>, key: NoInfer<TK>, value: NoInfer<TV>, options?: SendOptions): void {
    this.checkFence();
    this.scope.send<TK, TV>(topic, key, value, options);
  }

  store<S>(definition: StoreHandle<S>): S {
    this.checkFence();
    const store = this.scope.store(definition);
    return this.fence === undefined ? store : fencedStore(store, this);
  }

  /** A view for one run of a handler: what guards and interceptors attached to the context is on it too. */
  fencedBy(fence: Fence): RecordContext<K> {
    // Not Object.create(this): to become a prototype costs an object 9 us.
    const view = new RecordContext<K>(this.record, this.scope);
    view.fence = fence;
    this.copyAttachmentsTo(view);
    return view;
  }

  /** Handlers and enhancers may attach properties of their own to the context, as they do to a request. */
  copyAttachmentsTo(other: RecordContext<K>): void {
    const names = Object.keys(this);
    if (names.length === ownFields.size) return;
    for (const name of names) {
      if (!ownFields.has(name)) Reflect.set(other, name, Reflect.get(this, name));
    }
  }

  checkFence(): void {
    if (this.fence === undefined || this.fence.isOpen) return;
    const { topic, partition, offset } = this.scope.record;
    throw new RecordClosedError({ topic, partition, offset }, 'its handler has ended, or an interceptor gave up on it');
  }
}

const ownFields: ReadonlySet<string> = new Set(['record', 'scope', 'fence'] satisfies string[]);
