/** Reading outside of any group, under random commands. */
import type { PartitionReader } from '@tally/streams';
import { type Answer, answerOf, persistently, recordAnswer } from './answers.suite.js';
import { type Place, places } from './commands.suite.js';
import type { World } from './world.suite.js';

/** How long a reader that can bring nothing is listened to. */
const silenceMs = 5_000;

/** From the given offsets to where such a reader may come now. */
export async function read(
  world: World,
  at: readonly Place[],
  isolation: 'committed' | 'uncommitted',
  from: (place: Place) => Promise<number>,
): Promise<Answer> {
  const reader = isolation === 'committed' ? world.playground.committedReader : world.playground.uncommittedReader;
  const targets = await world.offsets(at, isolation === 'committed' ? 'lastStable' : 'highWatermark');
  const starts = await Promise.all(at.map(async (place) => ({ ...world.partitionOf(place), offset: await from(place) })));
  await reader.assign(starts);
  try {
    return await answerOf(() => readTo(world, reader, targets));
  } finally {
    await reader.unassign(starts);
  }
}

async function readTo(world: World, reader: PartitionReader, targets: ReadonlyMap<Place, number>): Promise<Answer> {
  const records: Answer[] = [];
  const positionOf = (place: Place): number => reader.position(world.partitionOf(place)) ?? 0;
  const isReached = await world.until(async () => {
    for (const record of await reader.read(100, 25)) {
      const place = world.placeOf(record);
      records.push([place, recordAnswer(record, world.relative(place, record.offset))]);
    }
    return [...targets].every(([place, target]) => positionOf(place) >= target);
  });
  return [
    isReached,
    places.map((place) => records.filter((each) => (each as [Place])[0] === place)),
    [...targets.keys()].map((place) => world.relative(place, positionOf(place))),
  ];
}

/** From behind the end of the partition, with a reader of its own: what a client reports late must not meet a later command. */
export async function readOutside(world: World, place: Place): Promise<Answer> {
  const reader = world.broker.createReader();
  await persistently(() => reader.connect());
  await reader.assign([{ ...world.partitionOf(place), offset: (await world.end(place)) + 5 }]);
  try {
    return await answerOf(async () => {
      const isSilent = !(await world.until(async () => (await reader.read(100, 25)).length > 0, silenceMs));
      return isSilent ? 'nothing' : 'records';
    });
  } finally {
    await reader.close();
  }
}
