/** The simulated broker as a ground for random commands: a new cluster for each sequence. */
import { seededRandom, sleep } from '@tally/streams';
import { SimulatedBroker, SimulatedCluster, type SimulatedClusterOptions } from '../../broker/index.js';
import { VirtualClock } from '../../virtual-clock.js';
import type { Answer } from './answers.suite.js';
import type { Sequence } from './commands.suite.js';
import { execute } from './execute.suite.js';
import { type Playground, topicSettings } from './world.suite.js';

export interface SimulatedGround {
  readonly cluster?: Partial<SimulatedClusterOptions>;
  /** Changes the ground, to see whether that is noticed. */
  readonly spoil?: (playground: Playground, cluster: SimulatedCluster) => Playground | Promise<Playground>;
}

export function runOnSimulated(sequence: Sequence, { cluster: options, spoil = (same) => same }: SimulatedGround = {}): Promise<Answer[]> {
  const clock = new VirtualClock();
  const cluster = new SimulatedCluster({ clock, random: seededRandom(1), ...options });
  for (const [name, { partitions, config }] of Object.entries(topicSettings)) cluster.createTopic(name, partitions, config);
  const run = async (): Promise<Answer[]> => execute(sequence, await spoil(await playgroundOn(cluster, clock), cluster));
  return clock.run(run());
}

async function playgroundOn(cluster: SimulatedCluster, clock: VirtualClock): Promise<Playground> {
  const broker = new SimulatedBroker(cluster);
  const committedReader = broker.createReader();
  const uncommittedReader = new SimulatedBroker(cluster, { process: 'uncommitted', isolation: 'readUncommitted' }).createReader();
  await committedReader.connect();
  await uncommittedReader.connect();
  return {
    broker,
    topics: { plain: 'plain', compacted: 'compacted' },
    committedReader,
    uncommittedReader,
    prefix: 'random',
    addPartitions: async (topic, total) => cluster.addPartitions(topic, total),
    deleteTopic: async (topic) => cluster.deleteTopic(topic),
    sleep: (durationMs) => sleep(clock, durationMs),
    nowMs: () => clock.monotonicMs(),
  };
}
