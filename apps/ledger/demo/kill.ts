/** One kill: the victim is struck in an open transaction, started again, and its partitions are watched until they move. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../load/random.js';
import { type LedgerInstance, waitFor } from './instance.js';
import type { Stage } from './stage.js';
import { type HeldBack, killInOpenTransaction, offsetOf } from './strike.js';

/** A kill as seen at its time; what its transaction had written is counted once all is over. */
export interface Casualty {
  readonly victim: string;
  readonly atRecord: number;
  readonly recoveryMs: number;
  readonly processed: readonly number[];
  readonly sent: readonly number[];
  /** Places of output records that were uncommitted at the kill. */
  readonly uncommitted: ReadonlySet<string>;
  /** Changelog records that all instances together had replayed before. */
  readonly replayedBefore: number;
}

const recoveryTimeoutMs = 60_000;
/** A process is not started again in the very moment in which it died. */
const restartDelayMs = 300;

/** @param lastVictim name of an instance that is spared this time, if there is another one */
export async function killOne(stage: Stage, random: SeededRandom, lastVictim: string | undefined): Promise<Casualty> {
  const { cluster, outputs, options } = stage;
  const victim = chooseVictim(stage, random, lastVictim);
  const partitions = victim.stats?.partitions ?? [];
  const replayedBefore = countReplayed(stage);
  stage.striking = true;
  const heldBack = await killInOpenTransaction(cluster, victim, outputs, options.signal).finally(() => (stage.striking = false));
  const killedMs = performance.now();
  const [processed, sent, ends] = await Promise.all([
    stage.readProcessedOffsets(),
    stage.readSentOffsets(),
    cluster.endOffsets(outputs, false),
  ]);
  const recovered = watchRecovery(stage, victim, partitions, processed, killedMs);
  const uncommitted = await readUncommitted(stage, heldBack, ends);
  const recoveryMs = await recovered;
  const atRecord = processed.reduce((sum, offset) => sum + offset, 0);
  return { victim: victim.name, atRecord, recoveryMs, processed, sent, uncommitted, replayedBefore };
}

function chooseVictim(stage: Stage, random: SeededRandom, lastVictim: string | undefined): LedgerInstance {
  const owners = stage.instances.filter((instance) => (instance.stats?.partitions.length ?? 0) > 0);
  const others = owners.filter(({ name }) => name !== lastVictim);
  const candidates = others.length > 0 ? others : owners;
  const victim = candidates[random.below(candidates.length)];
  if (victim === undefined) throw new Error('No instance owns a partition, so there is none to kill.');
  return victim;
}

export function countReplayed(stage: Stage): number {
  return stage.instances.reduce((sum, instance) => sum + instance.recordsRestored, 0);
}

async function watchRecovery(
  stage: Stage,
  victim: LedgerInstance,
  partitions: readonly number[],
  processed: readonly number[],
  killedMs: number,
): Promise<number> {
  await sleep(restartDelayMs);
  victim.start();
  await waitFor(`the partitions of ${victim.name} are processed again`, recoveryTimeoutMs, stage.options.signal, async () => {
    const now = await stage.readProcessedOffsets();
    return partitions.every((partition) => (now[partition] ?? 0) > (processed[partition] ?? 0));
  });
  return performance.now() - killedMs;
}

async function readUncommitted(stage: Stage, heldBack: HeldBack, ends: HeldBack): Promise<ReadonlySet<string>> {
  const places = new Set<string>();
  await stage.cluster.read(heldBack, false, (record) => {
    if (record.offset < offsetOf(ends, record)) places.add(placeOf(record));
  });
  return places;
}

export function placeOf(record: { readonly topic: string; readonly partition: number; readonly offset: number }): string {
  return `${record.topic} ${record.partition} ${record.offset}`;
}
