/** Runs a sequence on a broker and gathers the answers, one per command, and what is there in the end. */
import { administrate, listOffsets } from './administration.suite.js';
import type { Answer } from './answers.suite.js';
import { type Command, type Place, places, type Sequence } from './commands.suite.js';
import { Group } from './group.suite.js';
import { OwnTopic } from './own-topic.suite.js';
import { Outputs } from './outputs.suite.js';
import { Producers } from './producers.suite.js';
import { read, readOutside } from './reading.suite.js';
import { type Playground, World } from './world.suite.js';

export async function execute(sequence: Sequence, playground: Playground): Promise<Answer[]> {
  const world = await World.on(playground);
  const group = new Group(world);
  const producers = new Producers(world, group);
  const outputs = new Outputs(world);
  const ownTopic = new OwnTopic(world);
  const answers: Answer[] = [];
  try {
    for (const command of sequence) answers.push(await run(command, { world, group, producers, outputs, ownTopic }));
  } finally {
    await Promise.all([producers.close(), outputs.close(), group.close(), ownTopic.close()]);
  }
  answers.push(await remains(world, group));
  return answers;
}

interface Subjects {
  readonly world: World;
  readonly group: Group;
  readonly producers: Producers;
  readonly outputs: Outputs;
  readonly ownTopic: OwnTopic;
}

async function run(command: Command, { world, group, producers, outputs, ownTopic }: Subjects): Promise<Answer> {
  switch (command.kind) {
    case 'open':
      return producers.open(command.id);
    case 'transaction':
      return producers.call(command.producer.id, command.producer.former, command.call);
    case 'overlap':
      return producers.overlap(command.producer.id, command.first, command.second);
    case 'outlive':
      return producers.outlive(command.at, command.call);
    case 'output':
      return outputs.send(command.at, command.records);
    case 'outputWrong':
      return outputs.sendWrong(command.at, command.wrong);
    case 'join':
      return group.join();
    case 'leave':
      return group.leave(command.at);
    case 'subscribe':
      return group.subscribe(command.topics);
    case 'consume':
      return group.consume();
    case 'describeGroup':
      return group.describe();
    case 'pause':
    case 'resume':
      return group.pauseOrResume(command.kind, command.at);
    case 'seek':
      return group.seek(command.at, command.share);
    case 'assignAgain':
      return group.assignAgain(command.at, command.share);
    case 'position':
      return group.position([command.at]);
    case 'commitOffsets':
      return group.commitOffsets(command.offset);
    case 'stableOffsets':
      return group.stableOffsets(command.at, !command.at.some((place) => producers.offsetsHeld.has(place)));
    case 'read':
      return read(world, command.at, command.isolation, (place) => world.share(place, command.share));
    case 'readOutside':
      return readOutside(world, command.at);
    case 'makeTopic':
      return ownTopic.make(command.partitions);
    case 'growTopic':
      return ownTopic.grow(command.more);
    case 'removeTopic':
      return ownTopic.remove();
    case 'writeTopic':
      return ownTopic.write(command.partition, command.records);
    case 'lookAtTopic':
      return ownTopic.look();
    case 'listOffsets':
    case 'listUnknown':
    case 'deleteUnknown':
    case 'deleteOutside':
    case 'deleteRecords':
    case 'describeTopics':
    case 'createTopic':
      return administrate(command, world, group);
  }
}

/** All producers and members have closed: what was open is aborted, the rest stands. */
async function remains(world: World, group: Group): Promise<Answer> {
  const isSettled = await world.untilSettled();
  const start = (place: Place): Promise<number> => world.share(place, 0);
  const [earliest, end, committed, uncommitted, offsets] = await Promise.all([
    listOffsets(world, places, 'earliest'),
    listOffsets(world, places, 'highWatermark'),
    read(world, places, 'committed', start),
    read(world, places, 'uncommitted', start),
    group.wasUsed ? group.stableOffsets(places, true) : 'no group',
  ]);
  return { isSettled, earliest, end, committed, uncommitted, offsets };
}
