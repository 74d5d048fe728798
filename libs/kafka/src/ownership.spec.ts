import { describe, expect, it } from 'vitest';
import { Ownership } from './ownership.js';

const p = (partition: number) => ({ topic: 't', partition });

describe('ownership of partitions', () => {
  it('answers a revocation only when all that were named are let go', () => {
    const ownership = new Ownership();
    ownership.granted([p(0), p(1), p(2)]);
    for (const owned of ownership.all()) owned.added = true;
    ownership.leaving([p(0), p(1)]);
    expect(ownership.release([p(2)])).toBe(false);
    expect(ownership.release([p(0)])).toBe(false);
    expect(ownership.answerDue).toBe(true);
    expect(ownership.release([p(1)])).toBe(true);
    expect(ownership.answered()).toEqual([p(0), p(1)]);
    expect(ownership.answerDue).toBe(false);
    expect(ownership.all().map(({ partition }) => partition)).toEqual([2]);
  });

  it('hands the client only what it was given', () => {
    const ownership = new Ownership();
    ownership.granted([p(0), p(1)]);
    Object.assign(ownership.get(p(0)) ?? {}, { added: true });
    ownership.leaving([p(0), p(1)]);
    expect(ownership.release([p(0), p(1)])).toBe(true);
    expect(ownership.answered()).toEqual([p(0)]);
  });

  it('ignores what it never owned', () => {
    const ownership = new Ownership();
    ownership.leaving([p(9)]);
    expect(ownership.release([p(9)])).toBe(false);
    expect(ownership.answerDue).toBe(false);
  });

  it('counts as active what delivers records', () => {
    const ownership = new Ownership();
    ownership.granted([p(0), p(1), p(2), p(3)]);
    for (const partition of [1, 2, 3]) Object.assign(ownership.get(p(partition)) ?? {}, { added: true, paused: false });
    Object.assign(ownership.get(p(2)) ?? {}, { paused: true });
    ownership.leaving([p(3)]);
    expect(ownership.active().map(({ partition }) => partition)).toEqual([1]);
  });
});
