/** Tells a listener what happened, in order, and only while it may call back. */
import type { Logger } from '@tally/streams';

interface Told {
  readonly what: string;
  readonly tell: () => void;
}

export class ListenerQueue {
  readonly #waiting: Told[] = [];
  readonly #logger: Logger;
  readonly #name: string;
  readonly #mayTell: () => boolean;

  constructor(parts: { readonly logger: Logger; readonly name: string; readonly mayTell: () => boolean }) {
    this.#logger = parts.logger;
    this.#name = parts.name;
    this.#mayTell = parts.mayTell;
  }

  add(what: string, tell: () => void): void {
    this.#waiting.push({ what, tell });
    setImmediate(() => this.deliver());
  }

  /** Called between two consumes; after one, just before its promise resolves, or a caller that reads without a pause would never be told. */
  deliver(): void {
    while (this.#mayTell()) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      try {
        next.tell();
      } catch (error) {
        this.#logger.error(`The rebalance listener of the ${this.#name} threw in ${next.what}: ${String(error)}`);
      }
    }
  }
}
