/**
 * No task runs on two workers in the committed history: whoever commits an offset holds the partition, nobody commits after a later owner
 * has, and no offset goes back.
 */
import type { OffsetCommit } from '../../broker/index.js';
import type { Checker } from './checker.js';

export const ownership: Checker = {
  name: 'ownership',
  check({ evidence }) {
    const problems: string[] = [];
    const lastOf = new Map<string, OffsetCommit>();
    for (const commit of evidence.offsetCommits) {
      const { groupId, topic, partition, memberId, heldSince, offset } = commit;
      const at = `${topic}-${partition} of ${groupId}`;
      const last = lastOf.get(`${groupId} ${topic}-${partition}`);
      if (heldSince === undefined) problems.push(`${memberId} commits ${offset} for ${at}, which it does not hold`);
      else if (last?.heldSince !== undefined && heldSince < last.heldSince)
        problems.push(`${memberId} commits ${offset} for ${at} after its later owner ${last.memberId} has`);
      else if (last?.heldSince === heldSince && last.memberId !== memberId)
        problems.push(`${memberId} and ${last.memberId} both commit for ${at} as its owners since epoch ${heldSince}`);
      if (last !== undefined && offset < last.offset) problems.push(`the offset of ${at} goes back from ${last.offset} to ${offset}`);
      lastOf.set(`${groupId} ${topic}-${partition}`, commit);
    }
    return problems;
  },
};
