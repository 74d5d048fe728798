/** Runs random sequences on two grounds, and finds the shortest sequence that they answer differently. */
import { isDeepStrictEqual } from 'node:util';
import type { Answer } from './answers.suite.js';
import { describeSequence, type Sequence } from './commands.suite.js';
import { sequenceOf } from './sequences.suite.js';

/** Runs one sequence at a time, each as if it were alone in its cluster. */
export interface Ground {
  run(sequence: Sequence): Promise<readonly Answer[]>;
}

export interface Comparison {
  /** As many sequences run at the same time. */
  readonly examined: readonly Ground[];
  readonly simulated: Ground;
  readonly firstSeed: number;
  readonly sequences: number;
}

interface Difference {
  readonly sequence: Sequence;
  /** Of the command, or the number of commands for what remains after them. */
  readonly index: number;
  readonly examined: Answer;
  readonly simulated: Answer;
}

/** How many runs may be spent on making a sequence shorter. */
const runsToCutDownMax = 60;

/**
 * @returns how many commands were answered alike.
 * @throws Error that names the seed and the shortest sequence found, when the answers differ.
 */
export async function compareAnswers({ examined, simulated, firstSeed, sequences }: Comparison): Promise<number> {
  let next = firstSeed;
  let commands = 0;
  let isFound = false;
  const work = async (ground: Ground): Promise<void> => {
    while (next < firstSeed + sequences && !isFound) {
      const seed = next++;
      const sequence = sequenceOf(seed);
      const explanation = await explainDifference(seed, sequence, ground, simulated, () => isFound);
      commands += sequence.length;
      if (explanation === undefined) continue;
      isFound = true;
      throw new Error(explanation);
    }
  };
  const lanes = await Promise.allSettled(examined.map(work));
  const failed = lanes.find((lane) => lane.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return commands;
}

/** @returns `undefined` where there is none, or another one is being explained already. */
async function explainDifference(
  seed: number,
  sequence: Sequence,
  examined: Ground,
  simulated: Ground,
  isEnough: () => boolean,
): Promise<string | undefined> {
  try {
    const found = await differenceOf(sequence, examined, simulated);
    if (found === undefined || isEnough()) return undefined;
    const again = await differenceOf(sequence, examined, simulated);
    const shortest = again === undefined ? found : await cutDown(again, (shorter) => differenceOf(shorter, examined, simulated));
    return textOf(seed, sequence.length, shortest, again !== undefined);
  } catch (cause) {
    throw new Error(`The sequence with the seed ${seed} could not be run to its end:\n${describeSequence(sequence)}`, { cause });
  }
}

async function differenceOf(sequence: Sequence, examined: Ground, simulated: Ground): Promise<Difference | undefined> {
  const [left, right] = [await examined.run(sequence), await simulated.run(sequence)];
  const index = left.findIndex((answer, at) => !isDeepStrictEqual(answer, right[at]));
  return index < 0 ? undefined : { sequence, index, examined: left[index], simulated: right[index] };
}

/** Leaves out ever shorter runs of commands, as long as the rest still differs. */
async function cutDown(found: Difference, find: (shorter: Sequence) => Promise<Difference | undefined>): Promise<Difference> {
  let shortest = found;
  let runs = 0;
  for (let size = Math.ceil(found.sequence.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = shortest.sequence.length - size; start >= 0 && runs < runsToCutDownMax; start -= size) {
      const { sequence } = shortest;
      runs += 1;
      shortest = (await find([...sequence.slice(0, start), ...sequence.slice(start + size)])) ?? shortest;
    }
  }
  return shortest;
}

function textOf(seed: number, commands: number, { sequence, index, examined, simulated }: Difference, isReproduced: boolean): string {
  const where = index < sequence.length ? `command ${index + 1}` : 'what remains after the last command';
  const how = isReproduced
    ? `cut down to ${sequence.length} of its ${commands} commands`
    : 'which was answered alike when it was run again';
  return [
    `The brokers differ in ${where} of the sequence with the seed ${seed}, ${how}:`,
    describeSequence(sequence),
    `Examined:  ${JSON.stringify(examined)}`,
    `Simulated: ${JSON.stringify(simulated)}`,
  ].join('\n');
}
