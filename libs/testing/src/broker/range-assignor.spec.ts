import { describe, expect, it } from 'vitest';
import { type RangeMember, rangeAssignment } from './range-assignor.js';
import { Topics } from './topics.js';

function assigned(members: readonly RangeMember[], topics: Readonly<Record<string, number>>): Record<string, string[]> {
  const made = new Topics(1_000_000);
  for (const [name, partitions] of Object.entries(topics)) made.create(name, partitions);
  return Object.fromEntries(
    [...rangeAssignment(members, made)].map(([id, target]) => [
      id,
      [...target.values()].map(({ topic, partition }) => `${topic}-${partition}`).sort(),
    ]),
  );
}

const member = (id: string, ...topics: string[]): RangeMember => ({ id, topics });

describe('the range assignor', () => {
  it('gives runs of partitions in the order of member ids, the first ones one more', () => {
    expect(assigned([member('b', 'in'), member('c', 'in'), member('a', 'in')], { in: 8 })).toEqual({
      a: ['in-0', 'in-1', 'in-2'],
      b: ['in-3', 'in-4', 'in-5'],
      c: ['in-6', 'in-7'],
    });
  });

  it('gives topics of one partition to the first member, and leaves members over', () => {
    expect(assigned([member('a', 'one', 'other'), member('b', 'one', 'other')], { one: 1, other: 1 })).toEqual({
      a: ['one-0', 'other-0'],
      b: [],
    });
  });

  it('looks at each topic by itself: its subscribers alone, and topics that do not exist not at all', () => {
    expect(assigned([member('a', 'left'), member('b', 'left', 'right', 'missing')], { left: 2, right: 2 })).toEqual({
      a: ['left-0'],
      b: ['left-1', 'right-0', 'right-1'],
    });
  });
});
