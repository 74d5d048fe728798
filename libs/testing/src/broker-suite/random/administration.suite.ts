/** The admin side of the port under random commands. */
import type { TopicPartition } from '@tally/streams';
import { type Answer, answerOf } from './answers.suite.js';
import type { Command, Place } from './commands.suite.js';
import type { Group } from './group.suite.js';
import type { World } from './world.suite.js';

export type Administration = Extract<
  Command,
  { kind: 'deleteOutside' | 'listOffsets' | 'listUnknown' | 'deleteUnknown' | 'deleteRecords' | 'describeTopics' | 'createTopic' }
>;

export async function administrate(command: Administration, world: World, group: Group): Promise<Answer> {
  const { admin } = world.broker;
  const { plain, compacted } = world.playground.topics;
  switch (command.kind) {
    case 'listOffsets':
      return listOffsets(world, command.at, command.spec);
    case 'listUnknown':
      return answerOf(() => admin.listOffsets([unknownOf(command.unknown, plain)], 'earliest'));
    case 'deleteUnknown':
      return answerOf(() => admin.deleteRecords([{ ...unknownOf(command.unknown, plain), offset: 0 }]));
    case 'deleteRecords': {
      const offset = await world.share(command.at, command.share);
      if (command.at !== 'compacted/0') await group.skipTo(command.at, offset);
      return answerOf(() => admin.deleteRecords([{ ...world.partitionOf(command.at), offset }]));
    }
    case 'deleteOutside': {
      const offset = (await world.end(command.at)) + 1;
      return answerOf(() => admin.deleteRecords([{ ...world.partitionOf(command.at), offset }]));
    }
    case 'describeTopics': {
      const found = await admin.describeTopics([plain, compacted, `${plain}-unknown`]);
      return [plain, compacted, `${plain}-unknown`].map((name) => found.get(name)?.partitions ?? 'none');
    }
    case 'createTopic':
      return answerOf(() => admin.createTopic(specificationOf(command.topic, world)));
  }
}

function unknownOf(unknown: 'topic' | 'partition', topic: string): TopicPartition {
  return unknown === 'topic' ? { topic: `${topic}-unknown`, partition: 0 } : { topic, partition: 7 };
}

function specificationOf(topic: Extract<Command, { kind: 'createTopic' }>['topic'], world: World) {
  const { plain } = world.playground.topics;
  const good = { name: `${plain}-new`, partitions: 1, replicationFactor: -1, config: {} };
  switch (topic) {
    case 'existing':
      return { ...good, name: plain };
    case 'badName':
      return { ...good, name: 'no/slashes' };
    case 'badReplication':
      return { ...good, replicationFactor: 30 };
    case 'badConfig':
      return { ...good, config: { 'cleanup.policy': 'nonsense' } };
    case 'badPartitions':
      return { ...good, partitions: 0 };
  }
}

export async function listOffsets(world: World, at: readonly Place[], spec: 'earliest' | 'highWatermark' | 'lastStable'): Promise<Answer> {
  const offsets = await world.offsets(at, spec);
  return [...offsets].map(([place, offset]) => [place, world.relative(place, offset)]);
}
