/** Makes a history's plan of nothing but its seed. */
import { seededRandom } from '@tally/streams';
import { commitPoints, definitionOf, type DrawSetting, type FaultSetting, faultKinds, weightedRequests } from '../faults/index.js';
import { idOf, type Scenario } from '../scenarios/scenario.js';
import { scenarios } from '../scenarios/index.js';
import { Draw } from './draw.js';
import { drawEmphasis } from './emphasis.js';
import type { ClusterSettings, FaultKind, HistoryPlan, PlannedFault, PlannedRecord, ProcessEvent, WorkerSettings } from './plan.js';

const recordsMin = 300;
const recordsMax = 420;
/** So many come after everything has healed, where there are enough: they cover every partition. */
const lastRecordsMax = 20;
const faultsMin = 5;
const faultsMax = 14;
/** Seeds in which a worker is away just when its commit is decided, and comes back when others have taken over. */
const commitInDoubt = 0.12;
/** Moments at which more is at stake than at others. */
const stressedEvents: readonly ProcessEvent[] = [...commitPoints, 'request commitTransactionOffsets', 'request endTransaction'];
/** How much likelier the kinds are that a seed stresses, and those that tell most of what is run. */
const stressedWeight = 8;
const tellingWeight = 4;
/** Kinds that a seed leaves out altogether, so that the others are seen undisturbed. */
const leftOut = 0.4;

export function drawPlan(seed: number, among: readonly Scenario[] = scenarios): HistoryPlan {
  const draw = new Draw(seededRandom(seed));
  const scenario = draw.weighted(among.map((each) => [each, each.weight]));
  const guarantee = draw.chance(0.6) ? 'exactly-once' : draw.oneOf(scenario.guarantees);
  const commitsOften = scenario.commitsOften === true || guarantee === 'at-most-once';
  const frame = drawFrame(draw, { commitsOften, isBrisk: false });
  const { machines, partitions, cluster, durationMs } = frame;
  const { bufferBytesMax = frame.worker.bufferBytesMax } = scenario;
  const worker = { ...frame.worker, guarantee, bufferBytesMax };
  const load = drawLoad(draw, scenario, partitions, frame.loadMs);
  const application = {
    ...scenario,
    hasStores: scenario.stores.length > 0,
    joinsTopics: scenario.inputs.length > 1,
    forgivesDeadlines: true,
    survivesLostTopics: true,
  };
  const faults = drawFaults(draw, { application, machines, worker, cluster, durationMs });
  // Slow ones are nearly always in hand when something happens.
  const handlerPauseMsMax = draw.oneOf([3, 40]);
  if (draw.chance(commitInDoubt)) faults.push(awayInCommit(draw, frame));
  return { seed, scenario: scenario.name, machines, partitions, worker, cluster, load, faults, durationMs, handlerPauseMsMax };
}

/** What of a plan does not depend on what is run. */
interface Frame extends Pick<HistoryPlan, 'machines' | 'partitions' | 'worker' | 'cluster' | 'durationMs'> {
  /** From the first record to the last one that has a time, in milliseconds. */
  readonly loadMs: number;
}

interface Pace {
  /** Every few records take a commit, so each must be quick. */
  readonly commitsOften: boolean;
  /** Rather many short histories than long ones. */
  readonly isBrisk: boolean;
}

export function drawFrame(draw: Draw, { commitsOften, isBrisk }: Pace): Frame {
  const machines = draw.weighted([
    [1, 2],
    [2, 4],
    [3, 2],
  ]);
  // The longer ones give a successor time for work of its own before a zombie wakes up.
  const loadMs = isBrisk ? draw.between(1_000, 2_500) : draw.chance(0.4) ? draw.between(1_500, 4_000) : draw.between(4_000, 12_000);
  return {
    machines,
    partitions: draw.between(1, 4),
    worker: drawWorker(draw, isBrisk),
    cluster: drawCluster(draw, commitsOften),
    loadMs,
    durationMs: loadMs + draw.between(500, 1_500),
  };
}

function drawWorker(draw: Draw, isBrisk: boolean): WorkerSettings {
  return {
    guarantee: 'exactly-once',
    commitIntervalMs: draw.oneOf(isBrisk ? [20, 50, 100, 200] : [0, 10, 25, 50, 50, 100, 100, 200]),
    stateFlushIntervalMs: draw.oneOf([10, 50, 200, 1_000]),
    recordsPerConsume: draw.oneOf([1, 7, 50, 2_000]),
    bufferBytesMax: 128 * 1024 * 1024,
    cacheBytesMax: draw.oneOf([0, 2_000, 64 * 1024 * 1024]),
    transactionTimeoutMs: draw.oneOf(isBrisk ? [1_000, 2_000] : [1_000, 2_000, 10_000, 10_000]),
    commitSettleTimeoutMs: draw.oneOf(isBrisk ? [300, 1_500] : [300, 1_500, 10_000]),
    handlerDeadlineMs: draw.oneOf([100, 400]),
    shutdownTimeoutMs: 3_000,
    tombstoneRetentionMs: draw.chance(0.8) ? 7 * 24 * 3_600_000 : 60_000,
  };
}

function drawCluster(draw: Draw, commitsOften: boolean): ClusterSettings {
  // Short sessions let zombies come and go within a history; long ones hold their partitions while much goes wrong.
  const [sessionTimeoutMs, heartbeatIntervalMs] = draw.oneOf([
    [500, 60],
    [800, 100],
    [1_500, 100],
    [1_500, 400],
  ] as const);
  return {
    latencyMsMax: draw.oneOf([1, 5, 30]),
    markerDelayMsMax: draw.oneOf(commitsOften ? [1, 20] : [1, 20, 150, 800]),
    sessionTimeoutMs,
    heartbeatIntervalMs,
    transactionSweepIntervalMs: 250,
    callTimeoutMs: 1_000,
    queueRecordsMax: draw.oneOf([20, 200, 1_000_000, 1_000_000]),
  };
}

function drawLoad(draw: Draw, scenario: Scenario, partitions: number, loadMs: number): readonly PlannedRecord[] {
  const count = draw.between(recordsMin, recordsMax);
  // Some seeds send nearly everything to one partition; every partition gets something.
  const skew = draw.oneOf([0, 0, 0.7]);
  const lateMsMax = draw.oneOf([0, 50, 600]);
  return spread(draw, count, loadMs, [1, 5, 40, 150]).map(({ atMs, dueMs }, index) => {
    const ordinal = index + 1;
    const partition = index % 10 < partitions ? index % 10 : draw.chance(skew) ? 0 : draw.below(partitions);
    const id = idOf(ordinal, { partition, side: draw.chance(0.5) ? 0 : 1 });
    const { topic, key, value } = scenario.record(draw, id, partition);
    return { atMs, topic, partition, key: Buffer.from(key), value, timestampMs: dueMs - draw.between(0, lateMsMax) };
  });
}

/** Moments of records, in bursts over the time. The last ones come after everything has healed, and get the timestamps of their turn. */
export function spread(
  draw: Draw,
  count: number,
  loadMs: number,
  bursts: readonly number[],
): readonly { readonly atMs: number; readonly dueMs: number }[] {
  const burst = draw.oneOf(bursts);
  const last = Math.min(lastRecordsMax, Math.floor(count / 10));
  return Array.from({ length: count }, (_, index) => {
    const dueMs = Math.floor((loadMs * Math.floor(index / burst) * burst) / count);
    return { atMs: index < count - last ? dueMs : Number.POSITIVE_INFINITY, dueMs };
  });
}

/** @param without kinds that do not happen. */
export function drawFaults(draw: Draw, setting: FaultSetting, without: ReadonlySet<FaultKind> = new Set()): PlannedFault[] {
  const isPossible = (kind: FaultKind): boolean => !without.has(kind) && definitionOf(kind).suits(setting) && !draw.chance(leftOut);
  const possible = faultKinds.filter((kind) => kind === 'kill' || isPossible(kind));
  const kinds = possible.filter((kind) => definitionOf(kind).needsPerson !== true);
  const emphasis = drawEmphasis(draw, { kinds, requests: weightedRequests, events: stressedEvents, durationMs: setting.durationMs });
  const weightOf = (kind: FaultKind): number => {
    const definition = definitionOf(kind);
    return definition.weight * (emphasis.kinds.has(kind) ? stressedWeight : definition.tells?.(setting) === true ? tellingWeight : 1);
  };
  const count = draw.between(faultsMin, faultsMax);
  const faults: PlannedFault[] = [certainCrash(draw, setting)];
  const left = new Set<FaultKind>(possible);
  while (faults.length < count) {
    const kind = draw.weighted([...left].map((each) => [each, weightOf(each)]));
    faults.push(drawFault(kind, draw, { ...setting, emphasis }));
    if (definitionOf(kind).needsPerson === true)
      for (const each of possible) if (definitionOf(each).needsPerson === true) left.delete(each);
  }
  return faults;
}

function drawFault<K extends FaultKind>(kind: K, draw: Draw, setting: DrawSetting): PlannedFault {
  return definitionOf(kind).draw(draw, setting);
}

/** Its commit has taken effect, and it learns of that last. */
function awayInCommit(draw: Draw, { machines, cluster, durationMs }: Frame): PlannedFault {
  const awayMs = cluster.sessionTimeoutMs + draw.between(1_000, 2_500);
  const afterMs = draw.between(300, Math.max(400, durationMs - awayMs - 1_000));
  const machine = draw.below(machines);
  if (draw.chance(0.5)) return { kind: 'pause', machine, when: { afterMs, on: 'afterCommit', nth: 1 }, durationMs: awayMs };
  return { kind: 'cutOff', machine, when: { afterMs, on: 'request endTransaction', nth: 1 }, durationMs: awayMs };
}

/** Every history has a crash: this one strikes as soon as a process runs and does anything at all, or a little later. */
function certainCrash(draw: Draw, { machines, durationMs }: FaultSetting): PlannedFault {
  const when = {
    afterMs: draw.between(200, Math.floor(durationMs * 0.8)),
    on: 'await',
    nth: draw.oneOf([draw.between(1, 20), draw.between(20, 400)]),
  } as const;
  return { kind: 'kill', machine: draw.below(machines), when, downMs: draw.oneOf([1, 300]), newDisk: false };
}
