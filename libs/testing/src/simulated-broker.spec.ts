/** The simulated broker against the conformance suite of the broker port. */
import { seededRandom, sleep } from '@tally/streams';
import { type BrokerSetting, brokerSuite } from './broker.suite.js';
import { SimulatedBroker, SimulatedCluster, type SimulatedClusterOptions, VirtualClock } from './index.js';

const maxPollIntervalMs = 2_000;

async function createSetting(options: Partial<SimulatedClusterOptions> = {}): Promise<BrokerSetting> {
  const clock = new VirtualClock();
  const cluster = new SimulatedCluster({ clock, random: seededRandom(1), ...options });
  const broker = new SimulatedBroker(cluster, { maxPollIntervalMs });
  await clock.run(broker.connect());
  return {
    broker,
    sleep: (durationMs) => sleep(clock, durationMs),
    run: (test) => clock.run(test()),
    outlastPolling: () => sleep(clock, maxPollIntervalMs + 1_500),
    deleteTopic: async (name) => cluster.deleteTopic(name),
    addPartitions: async (topic, total) => cluster.addPartitions(topic, total),
    close: () => clock.run(broker.close()),
  };
}

brokerSuite('a simulated cluster', () => createSetting());
brokerSuite('a simulated cluster with slow answers', () => createSetting({ latency: { minMs: 0.1, maxMs: 30 } }));
