/** Random commands on the simulated broker alone: their answers do not hang on time, and the comparison notices what is wrong. */
import { seededRandom } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { compareAnswers, type Playground, runOnSimulated, type SimulatedGround } from './broker-suite/random-commands.suite.js';
import { SimulatedBroker } from './index.js';

const plain = { run: runOnSimulated };

function comparedWith(spoil: SimulatedGround['spoil'], sequences = 100): Promise<number> {
  const examined = {
    run: (sequence: Parameters<typeof runOnSimulated>[0]) => runOnSimulated(sequence, spoil === undefined ? {} : { spoil }),
  };
  return compareAnswers({ examined: [examined], simulated: plain, firstSeed: 1, sequences });
}

describe('random commands', () => {
  it('are answered alike by a cluster whose answers and markers are slow and whose chances are others', async () => {
    let seed = 100;
    const slow = () => ({ latency: { minMs: 0.1, maxMs: 15 }, markerDelay: { minMs: 0, maxMs: 30 }, random: seededRandom(seed++) });
    const examined = { run: (sequence: Parameters<typeof runOnSimulated>[0]) => runOnSimulated(sequence, { cluster: slow() }) };
    const commands = await compareAnswers({ examined: [examined], simulated: plain, firstSeed: 1, sequences: 150 });
    expect(commands).toBeGreaterThan(150 * 5);
  });

  it('show a reader that brings what was aborted, in a short sequence', async () => {
    const differing = comparedWith(async (playground, cluster) => {
      const committedReader = new SimulatedBroker(cluster, { isolation: 'readUncommitted' }).createReader();
      await committedReader.connect();
      return { ...playground, committedReader };
    });
    await expect(differing).rejects.toThrow(/differ in .* of the sequence with the seed \d+, cut down to [1-6] of its \d+ commands:\n1\. /);
  });

  it('show a last stable offset that passes open transactions', async () => {
    const differing = comparedWith((playground) => {
      const { admin } = playground.broker;
      const listOffsets: typeof admin.listOffsets = (partitions, spec) =>
        admin.listOffsets(partitions, spec === 'lastStable' ? 'highWatermark' : spec);
      return withAdmin(playground, { listOffsets });
    });
    await expect(differing).rejects.toThrow(/The brokers differ/);
  });

  it('show committed offsets without their metadata', async () => {
    const differing = comparedWith((playground) => {
      const { admin } = playground.broker;
      const stableOffsets: typeof admin.stableOffsets = async (groupId, partitions) =>
        (await admin.stableOffsets(groupId, partitions)).map((offset) => ({ ...offset, metadata: '' }));
      return withAdmin(playground, { stableOffsets });
    });
    await expect(differing).rejects.toThrow(/The brokers differ/);
  });

  it('name the sequence that a broker does not survive', async () => {
    const failing = comparedWith((playground) => {
      const describeTopics = () => Promise.reject(new TypeError('crashed'));
      return withAdmin(playground, { describeTopics });
    });
    await expect(failing).rejects.toThrow(/the seed \d+ could not be run to its end/);
  });
});

function withAdmin(playground: Playground, changed: Partial<Playground['broker']['admin']>): Playground {
  const admin = Object.assign(Object.create(playground.broker.admin) as Playground['broker']['admin'], changed);
  const broker = Object.assign(Object.create(playground.broker) as Playground['broker'], { admin });
  return { ...playground, broker };
}
