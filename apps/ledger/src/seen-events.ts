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
    const window = this.windowOf(streamTimeMs);
    const key = keyOf(window, payment);
    if (window > 0 && this.wasSeen(store, keyOf(window - 1, payment), streamTimeMs)) return false;
    if (this.wasSeen(store, key, streamTimeMs)) return false;
    store.put(key, BigInt(streamTimeMs));
    return true;
  }

  /**
   * Deletes ids that no payment can be compared with any more, a bounded number at a time: a whole window of them would fill the memory, and
   * hold up the payments.
   * @param from what the last call returned: there is nothing before it. At first the empty text.
   * @param idsMax how many are deleted at most
   * @returns where the next call goes on
   */
  async forget(store: SeenStore, streamTimeMs: number, from: string, idsMax: number): Promise<string> {
    const oldestKept = windowName(Math.max(0, this.windowOf(streamTimeMs) - 1));
    if (from >= oldestKept) return from;
    let left = idsMax;
    for await (const [key] of store.range(from, oldestKept)) {
      store.delete(key);
      left -= 1;
      if (left === 0) return key;
    }
    return oldestKept;
  }

  private wasSeen(store: SeenStore, key: string, streamTimeMs: number): boolean {
    const seenMs = store.get(key);
    return seenMs !== undefined && streamTimeMs - Number(seenMs) <= this.windowMs;
  }

  private windowOf(streamTimeMs: number): number {
    return Math.max(0, Math.floor(streamTimeMs / this.windowMs));
  }
}

function keyOf(window: number, { account, eventId }: Payment): string {
  return `${windowName(window)}/${account}/${eventId}`;
}

/** Of equal length, so that the order of the names is the order of time. */
function windowName(window: number): string {
  return String(window).padStart(12, '0');
}
