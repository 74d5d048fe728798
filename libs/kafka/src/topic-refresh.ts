/** A producer that finds no such partition looks at the topic again: the partition may have been added since its last look. */
import type { CallsInFlight } from './native-call.js';
import type { NativeProducer } from './native.js';

const metadataTimeoutMs = 5_000;
/** How long the answer "the topic has no such partition" is believed before it is asked again. */
const metadataFreshMs = 5_000;

export class TopicRefresh {
  readonly #calls: CallsInFlight;
  readonly #refreshing = new Map<string, Promise<void>>();
  readonly #refreshedAtMs = new Map<string, number>();

  constructor(calls: CallsInFlight) {
    this.#calls = calls;
  }

  /** Looks again unless it has just done so. @returns whether an answer is awaited. */
  awaits(client: NativeProducer, topic: string): boolean {
    if (this.#refreshing.has(topic)) return true;
    const refreshedAt = this.#refreshedAtMs.get(topic);
    if (refreshedAt !== undefined && performance.now() - refreshedAt < metadataFreshMs) return false;
    const refresh = new Promise<void>((resolve) => {
      client.getMetadata({ topic, timeout: metadataTimeoutMs }, () => {
        this.#refreshing.delete(topic);
        this.#refreshedAtMs.set(topic, performance.now());
        resolve();
      });
    });
    this.#refreshing.set(topic, refresh);
    void this.#calls.track(refresh);
    return true;
  }

  /** Resolves when no answer is awaited. */
  settled(): Promise<unknown> {
    return Promise.all(this.#refreshing.values());
  }
}
