import { Inject, Injectable } from '@nestjs/common';
import type { KeyValueStore } from '@tally/streams';
import type { Payment } from './payment.js';
import { SETTINGS, type Settings } from './settings.js';

type SeenStore = KeyValueStore<string, bigint>;

/**
 * Remembers event ids for the deduplication window.
 *
 * Keys start with the window in which the id was seen: `<window>/<account>/<event id>`. So an id is looked for in two windows, this one
 * and the one before, and what is too old lies together and is found without looking at the rest.
 */
@Injectable()
export class SeenEvents {
  readonly windowMs: number;

  constructor(@Inject(SETTINGS) settings: Pick<Settings, 'deduplicationWindowMs'>) {
    this.windowMs = settings.deduplicationWindowMs;
  }

  /** @returns false when the payment's event id was seen within the window already */
  remember(store: SeenStore, payment: Payment, streamTimeMs: number): boolean {
    const window = Math.floor(streamTimeMs / this.windowMs);
    const key = this.key(window, payment);
    for (const each of [this.key(window - 1, payment), key]) {
      const seenMs = store.get(each);
      if (seenMs !== undefined && streamTimeMs - Number(seenMs) <= this.windowMs) return false;
    }
    store.put(key, BigInt(streamTimeMs));
    return true;
  }

  /** Deletes the ids that no payment can be compared with any more. */
  async forget(store: SeenStore, streamTimeMs: number): Promise<void> {
    const oldestKept = windowName(Math.floor(streamTimeMs / this.windowMs) - 1);
    for await (const [key] of store.range('', oldestKept)) store.delete(key);
  }

  private key(window: number, payment: Payment): string {
    return `${windowName(window)}/${payment.account}/${payment.eventId}`;
  }
}

/** Of equal length, so that the order of the names is the order of time. */
function windowName(window: number): string {
  return String(Math.max(0, window)).padStart(12, '0');
}
