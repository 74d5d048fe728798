import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MapEntries } from './map-entries.suite.js';
import { nodeBytesMax, OrderedTree, type OrderedTreeReader } from './ordered-tree.js';

const address = '\u0001tree';

function listed(tree: OrderedTreeReader, from?: string, to?: string): [string, string][] {
  const entries: [string, string][] = [];
  tree.scan(latin1(from), latin1(to), (leaf, keyStart, valueStart, valueEnd) => {
    entries.push([text(leaf.subarray(keyStart, valueStart)), text(leaf.subarray(valueStart, valueEnd))]);
  });
  return entries;
}

function latin1(value: string): Buffer;
function latin1(value: string | undefined): Buffer | undefined;
function latin1(value: string | undefined): Buffer | undefined {
  return value === undefined ? undefined : Buffer.from(value, 'latin1');
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

/** Few first characters and any length, so that many keys begin with others. */
const keys = fc.string({ unit: fc.constantFrom('\u0000', 'a', 'b', 'ÿ'), maxLength: 6 });
const values = fc.oneof(
  fc.string({ unit: 'binary-ascii', maxLength: 40 }),
  fc.nat({ max: 3 * nodeBytesMax }).map((length) => 'x'.repeat(length)),
);

const steps = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('put' as const), key: keys, value: values }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), key: keys }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('removeBefore' as const), key: keys, leaves: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('fill' as const), key: keys, count: fc.nat({ max: 120 }) }) },
  ),
  { minLength: 1, maxLength: 60, size: 'max' },
);

describe('ordered tree', () => {
  it('equals a sorted map', () => {
    let deepest = 0;
    fc.assert(
      fc.property(steps, keys, keys, (sequence, from, to) => {
        const entries = new MapEntries();
        const tree = new OrderedTree(entries, address);
        const model = new Map<string, string>();
        const put = (key: string, value: string): void => {
          tree.put(latin1(key), latin1(value));
          model.set(key, value);
        };
        for (const step of sequence) {
          if (step.kind === 'put') put(step.key, step.value);
          if (step.kind === 'fill') for (let index = 0; index < step.count; index++) put(`${step.key}${index}`, 'y'.repeat(index));
          if (step.kind === 'remove') expect(tree.remove(latin1(step.key))).toBe(model.delete(step.key));
          if (step.kind === 'removeBefore') {
            tree.removeBefore(latin1(step.key), step.leaves);
            // How many go at once depends on where the nodes end, but they are the first ones and less than the key.
            const left = new Set(listed(tree).map(([key]) => key));
            const gone = [...model.keys()].filter((key) => !left.has(key));
            const kept = [...left];
            for (const key of gone) {
              expect(key < step.key && kept.every((other) => other > key)).toBe(true);
              model.delete(key);
            }
          }
        }
        const sorted = [...model].toSorted(([left], [right]) => (left < right ? -1 : 1));
        expect(listed(tree)).toEqual(sorted);
        expect(listed(tree, from, to)).toEqual(sorted.filter(([key]) => key >= from && key <= to));
        const floor = sorted.findLast(([key]) => key <= from);
        const found = tree.floor(latin1(from));
        expect(found === undefined ? undefined : [text(found.key), text(found.value)]).toEqual(floor);
        const value = tree.get(latin1(to));
        expect(value === undefined ? undefined : text(value)).toEqual(model.get(to));
        const [first, last] = [tree.first(), tree.last()];
        expect(first === undefined ? undefined : text(first.key)).toEqual(sorted[0]?.[0]);
        expect(last === undefined ? undefined : text(last.key)).toEqual(sorted.at(-1)?.[0]);
        deepest = Math.max(deepest, entries.size);
        if (sorted.length === 0) {
          tree.removeEmpty();
          expect(entries.size).toBe(0);
        }
      }),
      { numRuns: 200 },
    );
    expect(deepest).toBeGreaterThan(3);
  });

  it('keeps every node small, in a tree of several levels, and removes all of them', () => {
    const entries = new MapEntries();
    const tree = new OrderedTree(entries, address);
    const key = (index: number): Buffer => latin1(String((index * 7919) % 8_009).padStart(30, '0'));
    for (let index = 0; index < 8_009; index++) tree.put(key(index), latin1('value'));
    const sizes = [...entries.values()].map((node) => node.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(nodeBytesMax);
    expect(sizes.length).toBeGreaterThan(400);
    expect(listed(tree).length).toBe(8_009);
    entries.reads = 0;
    tree.get(key(17));
    expect(entries.reads).toBeLessThanOrEqual(4);
    entries.writes = 0;
    tree.put(key(17), latin1('other'));
    expect(entries.writes).toBe(1);
    for (let index = 0; index < 8_009; index++) expect(tree.remove(key(index))).toBe(true);
    expect(listed(tree)).toEqual([]);
    expect(entries.size).toBe(1);
    tree.removeEmpty();
    expect(entries.size).toBe(0);
  });

  it('leaves the node before alone when keys grow', () => {
    const entries = new MapEntries();
    const tree = new OrderedTree(entries, address);
    for (let index = 0; index < 1000; index++) tree.put(latin1(String(index).padStart(8, '0')), latin1('0123456789'));
    const sizes = [...entries.values()].map((node) => node.length);
    // Halves would leave every node but the last half empty.
    expect(sizes.length).toBeLessThan(1000 / (nodeBytesMax / 24) + 4);
  });

  it('leaves out of a single leaf what is of no more use when it is written, and of a larger tree nothing', () => {
    const entries = new MapEntries();
    const tree = new OrderedTree(entries, address);
    for (const key of ['a', 'b', 'c']) tree.put(latin1(key), latin1('1'), latin1('b'));
    expect(listed(tree)).toEqual([
      ['b', '1'],
      ['c', '1'],
    ]);
    expect(entries.size).toBe(1);
    tree.put(latin1('d'), latin1('2'), latin1('d'));
    expect(listed(tree)).toEqual([['d', '2']]);
    tree.put(latin1('c'), latin1('3'), latin1('e'));
    expect(listed(tree)).toEqual([['c', '3']]);
    for (let index = 0; index < 200; index++) tree.put(latin1(`f${index}`), latin1('4'));
    tree.put(latin1('g'), latin1('5'), latin1('g'));
    expect(listed(tree)).toHaveLength(202);
  });

  it('says whether it was there before', () => {
    const tree = new OrderedTree(new MapEntries(), address);
    expect(tree.put(latin1('a'), latin1(''))).toBe(true);
    expect(tree.put(latin1('b'), latin1(''))).toBe(false);
    tree.remove(latin1('a'));
    tree.remove(latin1('b'));
    expect(tree.put(latin1('a'), latin1(''))).toBe(false);
    expect(() => tree.put(Buffer.alloc(70_000), latin1(''))).toThrow(expect.objectContaining({ code: 'STORE_KEY_TOO_LONG' }));
  });
});
