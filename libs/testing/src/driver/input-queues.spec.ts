import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LoggedRecord } from '../broker/log.js';
import { InputQueues } from './input-queues.js';

function record(topic: string, timestampMs: number, offset: number): LoggedRecord {
  return { topic, partition: 0, offset, timestampMs, key: null, value: null, headers: [], rank: undefined, bytes: 0 };
}

function drain(queues: InputQueues): LoggedRecord[] {
  const taken: LoggedRecord[] = [];
  for (let next = queues.take(); next !== undefined; next = queues.take()) taken.push(next);
  return taken;
}

/** Queues equal timestamps: `counts` says how many of each topic. */
function ties(counts: Readonly<Record<string, number>>): string {
  const queues = new InputQueues();
  for (const [topic, count] of Object.entries(counts)) {
    for (let offset = 0; offset < count; offset += 1) queues.add(topic, record(topic, 7, offset));
  }
  return drain(queues)
    .map(({ topic }) => topic)
    .join('');
}

describe('queued records', () => {
  it('come by the lowest timestamp among the heads, each topic in its own order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: -3, max: 9 })), { maxLength: 60 }), (added) => {
        const queues = new InputQueues();
        const left = new Map<string, LoggedRecord[]>();
        for (const [offset, [topic, timestampMs]] of added.entries()) {
          queues.add(topic, record(topic, timestampMs, offset));
          left.set(topic, [...(left.get(topic) ?? []), record(topic, timestampMs, offset)]);
        }
        for (const taken of drain(queues)) {
          const heads = [...left.values()].flatMap((records) => records.slice(0, 1));
          expect(taken.timestampMs).toBe(Math.min(...heads.map(({ timestampMs }) => timestampMs)));
          expect(left.get(taken.topic)?.shift()).toEqual(taken);
        }
        expect([...left.values()].flat()).toEqual([]);
      }),
    );
  });

  // What a java.util.PriorityQueue does with the same topics, each of which is offered again when it has more.
  it.each([
    [{ a: 3 }, 'aaa'],
    [{ a: 3, b: 3 }, 'ababab'],
    [{ a: 3, b: 3, c: 3 }, 'acacacbbb'],
    [{ a: 2, b: 1, c: 2, d: 2 }, 'adadcbc'],
    [{ a: 4, b: 4, c: 4, d: 4, e: 4 }, 'aeaeaeaedcdcdcdcbbbb'],
  ])('decide ties by the heap: %o', (counts, order) => {
    expect(ties(counts)).toBe(order);
  });

  it('may be added while others are taken', () => {
    const queues = new InputQueues();
    queues.add('a', record('a', 5, 0));
    queues.add('b', record('b', 3, 0));
    expect(queues.take()?.topic).toBe('b');
    queues.add('b', record('b', 9, 1));
    queues.add('c', record('c', 1, 0));
    expect(drain(queues).map(({ topic }) => topic)).toEqual(['c', 'a', 'b']);
    expect(queues.take()).toBeUndefined();
  });
});
