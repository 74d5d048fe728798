/** Base of the contexts that offer a processor more, or less, than the runtime's own. One is made for each record. */
import type { DropReason, ProcessorContext, RecordMetadata, SendOptions } from './processor.js';
import type { StoreHandle } from './store-definition.js';
import type { Topic } from './topic.js';

export type ContextWithoutForward = Omit<ProcessorContext, 'forward'>;

export class DelegatingContext {
  constructor(protected readonly context: ProcessorContext) {}

  get taskId(): string {
    return this.context.taskId;
  }
  get record(): RecordMetadata {
    return this.context.record;
  }
  get streamTimeMs(): number {
    return this.context.streamTimeMs;
  }
  get nowMs(): number {
    return this.context.nowMs;
  }
  get signal(): AbortSignal {
    return this.context.signal;
  }

  rollback(): void {
    this.context.rollback();
  }

  advanceTime(store: StoreHandle<unknown>, timestampMs: number): number {
    return this.context.advanceTime(store, timestampMs);
  }

  drop(reason: DropReason): void {
    this.context.drop(reason);
  }

  store<S>(definition: StoreHandle<S>): S {
    return this.context.store(definition);
  }

  protected sendToTopic<K, V>(topic: Topic<K, V>, key: NoInfer<K>, value: NoInfer<V>, options: SendOptions | undefined): void {
    this.context.send(topic, key, value, options);
  }
}
