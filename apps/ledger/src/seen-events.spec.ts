import { describe, expect, it } from 'vitest';
import { MemoryStore } from './memory-store.fixture.js';
import type { Payment } from './payment.js';
import { SeenEvents } from './seen-events.js';

const windowMs = 1_000;
const startMs = 1_700_000_000_000;
const payment: Payment = { eventId: 'e1', account: 'anna', counterparty: 'shop', kind: 'deposit', amount: 1, currency: 'EUR' };

describe('SeenEvents', () => {
  it('drops a copy up to the end of the window, wherever the window began', () => {
    for (const offsetMs of [0, 1, 500, 999]) {
      const seen = new SeenEvents({ deduplicationWindowMs: windowMs });
      const store = new MemoryStore();
      const firstMs = startMs + offsetMs;
      expect(seen.remember(store, payment, firstMs)).toBe(true);
      expect(seen.remember(store, payment, firstMs)).toBe(false);
      expect(seen.remember(store, payment, firstMs + windowMs)).toBe(false);
      expect(seen.remember(store, payment, firstMs + windowMs + 1)).toBe(true);
      expect(seen.remember(store, payment, firstMs + windowMs + 2)).toBe(false);
    }
  });

  it('tells accounts and event ids apart', () => {
    const seen = new SeenEvents({ deduplicationWindowMs: windowMs });
    const store = new MemoryStore();
    expect(seen.remember(store, payment, startMs)).toBe(true);
    expect(seen.remember(store, { ...payment, account: 'bert' }, startMs)).toBe(true);
    expect(seen.remember(store, { ...payment, eventId: 'e2' }, startMs)).toBe(true);
  });

  it('forgets only what is out of reach, so that it stays bounded and drops no less', async () => {
    const seen = new SeenEvents({ deduplicationWindowMs: windowMs });
    const store = new MemoryStore();
    let from = '';
    for (let index = 0; index < 100; index++) {
      const nowMs = startMs + index * 100;
      expect(seen.remember(store, { ...payment, eventId: `e${index}` }, nowMs)).toBe(true);
      from = await seen.forget(store, nowMs, from, 1_000);
      expect(store.entries.size).toBeLessThanOrEqual(20);
      for (let age = 0; age <= Math.min(10, index); age++) {
        expect(seen.remember(store, { ...payment, eventId: `e${index - age}` }, nowMs)).toBe(false);
      }
    }
  });

  it('forgets a bounded number at once, and goes on where it was', async () => {
    const seen = new SeenEvents({ deduplicationWindowMs: windowMs });
    const store = new MemoryStore();
    for (let index = 0; index < 250; index++) seen.remember(store, { ...payment, eventId: `e${index}` }, startMs);
    const kept = startMs + 2 * windowMs;
    seen.remember(store, payment, kept);
    const sizes: number[] = [];
    let from = '';
    for (let call = 0; call < 4; call++) {
      from = await seen.forget(store, kept, from, 100);
      sizes.push(store.entries.size - 1);
    }
    expect(sizes).toEqual([150, 50, 0, 0]);
    expect(seen.remember(store, payment, kept)).toBe(false);
  });
});
