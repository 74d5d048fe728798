/** The check that scenarios share whose outputs are sums over records of several lanes: each step must be the amount of its cause. */
import type { ConsumedRecord } from '@tally/streams';
import { itemOf } from './item.js';
import { textOf } from './scenario.js';

/**
 * Follows the sums of each key.
 * @param outputs items of a cause's id and the sum after it, by key in order.
 * @param amountOf what the record of this id adds.
 * @returns the last sum of each key, and what does not add up.
 */
export function followSums(
  outputs: readonly ConsumedRecord[],
  amountOf: (id: number) => number | undefined,
): { readonly sums: ReadonlyMap<string, number>; readonly problems: string[] } {
  const sums = new Map<string, number>();
  const problems: string[] = [];
  for (const { key, value, topic } of outputs) {
    const name = textOf(key);
    const { id, amount: sum } = itemOf(value);
    const amount = amountOf(id);
    const before = sums.get(name) ?? 0;
    if (amount === undefined) problems.push(`${topic} of ${name} names the record ${id}, which was never sent`);
    else if (before + amount !== sum) problems.push(`${topic} of ${name} goes from ${before} to ${sum} by the record ${id} of ${amount}`);
    sums.set(name, sum);
  }
  return { sums, problems };
}
