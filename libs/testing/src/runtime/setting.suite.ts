/** A simulated cluster, a clock and workers on it, for tests of the runtime. */
import {
  type CommitPoint,
  type Hooks,
  type Logger,
  MemoryEngine,
  StreamsWorker,
  type Topology,
  type WorkerOptions,
  seededRandom,
} from '@tally/streams';
import { afterEach } from 'vitest';
import { SimulatedBroker, SimulatedCluster, VirtualClock } from '../index.js';

export interface Setting {
  readonly clock: VirtualClock;
  readonly cluster: SimulatedCluster;
  readonly engine: MemoryEngine;
  readonly log: string[];
  readonly worker: (topology: Topology, options?: Partial<WorkerOptions>, hooks?: Hooks, engine?: MemoryEngine) => StreamsWorker;
  readonly start: (topology: Topology, options?: Partial<WorkerOptions>, hooks?: Hooks, engine?: MemoryEngine) => Promise<StreamsWorker>;
  /** Lets time pass until the predicate holds. */
  readonly until: (predicate: () => boolean) => Promise<void>;
  readonly stop: (worker: StreamsWorker) => Promise<void>;
  /** Key and value of each committed record of the topic, as text. */
  readonly texts: (topic: string) => (readonly [string | null, string | null])[];
}

const running: { worker: StreamsWorker; clock: VirtualClock }[] = [];

afterEach(async () => {
  for (const { worker, clock } of running.splice(0)) await clock.run(worker.stop());
});

export function setting(topics: Readonly<Record<string, number>>): Setting {
  const clock = new VirtualClock();
  const cluster = new SimulatedCluster({ clock, random: seededRandom(1), recordsOffsetCommits: true });
  const engine = new MemoryEngine();
  const log: string[] = [];
  for (const [name, partitions] of Object.entries(topics)) cluster.createTopic(name, partitions);
  const write = (message: string): void => {
    log.push(message);
  };
  const logger: Logger = { debug: write, info: write, warn: write, error: write };

  const worker: Setting['worker'] = (topology, options = {}, hooks = {}, ownEngine = engine) => {
    const made = new StreamsWorker(
      {
        topology,
        broker: new SimulatedBroker(cluster, { process: `p${running.length}` }),
        storeEngine: ownEngine,
        clock,
        random: seededRandom(running.length + 1),
        hooks,
        logger,
      },
      { applicationId: 'app', stateDirectory: '/state', ...options },
    );
    running.push({ worker: made, clock });
    return made;
  };
  const text = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString('utf8'));
  return {
    clock,
    cluster,
    engine,
    log,
    worker,
    async start(...parts) {
      const made = worker(...parts);
      await clock.run(made.start());
      return made;
    },
    until: (predicate) => clock.runUntil(predicate, 300_000),
    stop: (made) => clock.run(made.stop()),
    texts: (topic) => cluster.allRecords(topic).map(({ key, value }) => [text(key), text(value)] as const),
  };
}

/** Hooks that hold the first commit which reaches the point, until it is let go. */
export function holdAt(point: CommitPoint): { readonly hooks: Hooks; readonly reached: () => boolean; readonly letGo: () => void } {
  let reached = false;
  let letGo: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return {
    hooks: {
      commitPoint(at) {
        if (at !== point || reached) return undefined;
        reached = true;
        return held;
      },
    },
    reached: () => reached,
    letGo: () => letGo(),
  };
}
