/**
 * Kills an instance while it has an open transaction with uncommitted output in the log.
 *
 * A kill at any moment would mostly hit an instance that has just committed. So the log is watched until a transaction lies open over
 * an output topic; the victim is frozen (SIGSTOP), and if that transaction then stays open, it is the victim's: the others commit
 * several times in the meantime. Only then comes SIGKILL. Else the victim goes on (SIGCONT), and the next open transaction is waited for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Partition, PartitionOffset } from './kafka.js';
import type { LedgerInstance } from './instance.js';

/** Output partitions from the first record that the open transaction holds back. */
export type HeldBack = readonly PartitionOffset[];

/** Several commit intervals of the ledger: any other instance's transaction has ended by then. */
const frozenMs = 400;
const attemptsMs = 60_000;

/** @throws when no open transaction of the victim could be caught */
export async function killInOpenTransaction(
  cluster: Cluster,
  victim: LedgerInstance,
  outputs: readonly Partition[],
  signal: AbortSignal,
): Promise<HeldBack> {
  const deadlineMs = performance.now() + attemptsMs;
  while (performance.now() < deadlineMs) {
    signal.throwIfAborted();
    victim.check();
    if ((await heldBack(cluster, outputs)).length === 0) {
      await sleep(1);
      continue;
    }
    victim.signal('SIGSTOP');
    const held = await heldBackThroughout(cluster, outputs);
    if (held.length > 0) {
      await victim.kill();
      return held;
    }
    victim.signal('SIGCONT');
  }
  throw new Error(`${victim.name} had no open transaction with output within ${attemptsMs / 1_000} s. Is it processing at all?`);
}

async function heldBack(cluster: Cluster, outputs: readonly Partition[]): Promise<PartitionOffset[]> {
  // In this order: what ends between the two answers does not look open.
  const ends = await cluster.endOffsets(outputs, false);
  const stable = await cluster.endOffsets(outputs, true);
  return stable.filter((one) => one.offset < offsetOf(ends, one));
}

async function heldBackThroughout(cluster: Cluster, outputs: readonly Partition[]): Promise<PartitionOffset[]> {
  await sleep(frozenMs / 4);
  const before = await heldBack(cluster, outputs);
  if (before.length === 0) return [];
  await sleep(frozenMs);
  const after = await heldBack(cluster, outputs);
  return after.filter((one) =>
    before.some((other) => other.topic === one.topic && other.partition === one.partition && other.offset === one.offset),
  );
}

export function offsetOf(offsets: readonly PartitionOffset[], at: Partition): number {
  return offsets.find(({ topic, partition }) => topic === at.topic && partition === at.partition)?.offset ?? 0;
}
