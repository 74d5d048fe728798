/**
 * Runs a service under seeded crashes, pauses, fencing and rebalances, in memory, and compares each history with a run of the same records
 * in which nothing goes wrong.
 */
import { InvalidConfigurationError, seededRandom, type Topology } from '@tally/streams';
import { checkers, findViolations, type Violation } from '../checkers/index.js';
import { Draw } from '../plan/draw.js';
import { drawFaults, drawFrame, spread } from '../plan/draw-plan.js';
import type { HistoryPlan, PlannedRecord, WorkerSettings } from '../plan/plan.js';
import { shrinkPlan } from '../shrink.js';
import type { Evidence } from '../world/evidence.js';
import { History, historyStartMs } from '../world/history.js';
import type { SimulateOptions, SimulationReport } from './options.js';
import { invariantChecker, referenceModel } from './reference.js';
import { declaredPartitions, factsOf, inputTopics, serviceSetting, type Subject } from './service-setting.js';
import { SimulatedService } from './simulated-service.js';
import { SimulationError } from './simulation-error.js';
import { type Workload, WorkloadBuilder } from './workload.js';

/**
 * Simulates a topology, or a service that made its own, once for each seed. A service in which something goes wrong without any fault is
 * refused by the first seed.
 *
 * @param subject a topology; a function that makes one for each simulated process, where processors share memory; or a service
 * @throws SimulationError with the seed and a shrunk schedule, when a history differs from its reference or an invariant does not hold
 * @example
 * ```ts
 * const report = await simulate(topology, (load) => {
 *   for (let id = 1; id <= 300; id += 1) load.add(payments, load.random.oneOf(['anna', 'bert']), { id, amount: load.random.between(1, 500) });
 * }, { seeds: 50 });
 * ```
 */
export async function simulate(
  subject: Topology | (() => Topology) | SimulatedService,
  workload: Workload,
  options: SimulateOptions,
): Promise<SimulationReport> {
  const simulation = new Simulation(subjectOf(subject, options), workload, options);
  const fired = new Map<string, number>();
  const totals = { histories: 0, records: 0, crashes: 0 };
  for (const seed of seedsOf(options.seeds)) {
    const evidence = await simulation.run(seed);
    totals.histories += 1;
    totals.records += evidence.records;
    totals.crashes += evidence.crashes;
    for (const [label, times] of evidence.fired) fired.set(label, (fired.get(label) ?? 0) + times);
  }
  return { ...totals, faultsFired: Object.fromEntries(fired) };
}

function subjectOf(subject: Topology | (() => Topology) | SimulatedService, { worker = {} }: SimulateOptions): Subject {
  if (typeof subject === 'function') return { topology: subject, workerOptions: worker };
  if (!(subject instanceof SimulatedService)) return { topology: () => subject, workerOptions: worker };
  const { topology, options } = subject.program;
  // Where its options say nothing about time, the seed may.
  return { topology: () => topology, workerOptions: { ...options, ...worker } };
}

function seedsOf(seeds: number | readonly number[]): readonly number[] {
  if (typeof seeds === 'number') return Array.from({ length: seeds }, (_, index) => index + 1);
  return seeds;
}

class Simulation {
  private readonly checkers;
  private readonly referenceCheckers;

  constructor(
    private readonly subject: Subject,
    private readonly workload: Workload,
    private readonly options: SimulateOptions,
  ) {
    // How large a service's records are only the service knows.
    const others = checkers.filter(({ name }) => name !== 'conservation' && name !== 'bounds');
    const invariants = invariantChecker(options.invariants);
    this.checkers = [...others, invariants];
    // With itself the reference agrees.
    this.referenceCheckers = [...others.filter(({ name }) => ['port', 'survival', 'liveness'].includes(name)), invariants];
  }

  /** @throws SimulationError */
  async run(seed: number): Promise<Evidence> {
    const plan = this.plan(seed);
    const { evidence, violations } = await this.compare(plan);
    const [first] = violations;
    if (first === undefined) return evidence;
    const smallest = await shrinkPlan(plan, first.checker, async (candidate) =>
      (await this.compare(candidate)).violations.map(({ checker }) => checker),
    );
    throw new SimulationError(seed, violations, smallest);
  }

  private async compare(plan: HistoryPlan): Promise<{ readonly evidence: Evidence; readonly violations: readonly Violation[] }> {
    const { guarantee } = plan.worker;
    const calm = undisturbed(plan);
    const calmSetting = serviceSetting(this.subject, calm, this.options);
    const reference = await new History(calm, calmSetting, { comparesDisks: false, measuresMemory: false }).run();
    const model = referenceModel(reference, calmSetting.stores, this.options);
    const unprovoked = findViolations({ evidence: reference, model, guarantee }, this.referenceCheckers);
    if (unprovoked.length > 0) throw new SimulationError(plan.seed, withoutFaults(unprovoked), calm);
    const evidence = await new History(plan, serviceSetting(this.subject, plan, this.options), { measuresMemory: false }).run();
    return { evidence, violations: findViolations({ evidence, model, guarantee }, this.checkers) };
  }

  private plan(seed: number): HistoryPlan {
    const { options, subject } = this;
    const draw = new Draw(seededRandom(seed));
    const topology = subject.topology();
    const frame = drawFrame(draw, { commitsOften: options.worker?.guarantee === 'at-most-once', isBrisk: true });
    const { partitions = frame.partitions, workers: machines = frame.machines } = options;
    const worker = { ...frame.worker, ...deadlineDefault, ...settingsOf(subject.workerOptions) };
    const load = this.load(draw, topology, partitions, frame.loadMs);
    const { cluster, durationMs } = frame;
    const faults = drawFaults(draw, { application: factsOf(topology), machines, worker, cluster, durationMs }, new Set(options.without));
    return { seed, scenario: 'service', machines, partitions, worker, cluster, load, faults, durationMs };
  }

  private load(draw: Draw, topology: Topology, partitions: number, loadMs: number): readonly PlannedRecord[] {
    const declared = declaredPartitions(topology);
    const inputs = new Set(inputTopics(topology));
    const builder = new WorkloadBuilder(draw, historyStartMs, (name) => {
      if (!inputs.has(name)) throw unknownInput(name, inputs);
      return declared.get(name) ?? partitions;
    });
    this.workload(builder);
    return spread(draw, builder.records.length, loadMs, bursts).map(({ atMs, dueMs }, index) => {
      const record = builder.records[index];
      if (record === undefined) throw new RangeError('There are more moments than records.');
      return { ...record, atMs, timestampMs: record.timestampMs === undefined ? dueMs : record.timestampMs - historyStartMs };
    });
  }
}

/** Records that arrive together. */
const bursts = [5, 20, 60];
/** The engine's own: a service's handlers may be slow by themselves. */
const deadlineDefault = { handlerDeadlineMs: 30_000 };

function settingsOf(options: Subject['workerOptions']): Partial<WorkerSettings> {
  const { applicationId: _id, stateDirectory: _directory, errors: _errors, ...settings } = options;
  return settings;
}

/** All records are there at once, one worker takes them, and nothing happens to it. */
function undisturbed(plan: HistoryPlan): HistoryPlan {
  return {
    ...plan,
    machines: 1,
    worker: { ...plan.worker, recordsPerConsume: 2_000, stateFlushIntervalMs: 1_000 },
    cluster: { ...plan.cluster, latencyMsMax: 1, markerDelayMsMax: 1, queueRecordsMax: 1_000_000 },
    load: plan.load.map((record) => ({ ...record, atMs: 0 })),
    faults: [],
    durationMs: 0,
  };
}

function withoutFaults(violations: readonly Violation[]): readonly Violation[] {
  return violations.map(({ checker, message }) => ({ checker, message: `without any fault: ${message}` }));
}

function unknownInput(name: string, inputs: ReadonlySet<string>): InvalidConfigurationError {
  const list = [...inputs].map((input) => `'${input}'`).join(', ');
  return new InvalidConfigurationError('TOPIC_NOT_READ', `The topology does not read the topic '${name}'. It reads: ${list}.`, {
    topic: name,
  });
}
