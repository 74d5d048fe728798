/** Random sequences of commands, one for each seed. */
import * as fc from 'fast-check';
import type { Command, Sequence } from './commands.suite.js';
import {
  administration,
  consuming,
  membership,
  oneOf,
  outlive,
  output,
  ownTopic,
  type Phrase,
  producing,
  reading,
  rivalOffsets,
  unknownTopic,
} from './phrases.suite.js';

export const commandsMin = 5;
export const commandsMax = 25;

/** Beyond what a command needs for itself, the broker's session and transaction timers make some of them slow: these sequences are few. */
const sequences: fc.Arbitrary<Sequence> = oneOf([55, withoutGroup()], [38, withGroup()], [4, withOwnTopic()], [3, withTimeout()]).filter(
  (sequence) => sequence.length >= commandsMin,
);

export function sequenceOf(seed: number): Sequence {
  const [sequence] = fc.sample(sequences, { seed, numRuns: 1 });
  if (sequence === undefined) throw new Error(`There is no sequence for the seed ${seed}.`);
  return sequence;
}

function ofPhrases(first: Phrase, phrase: Phrase): fc.Arbitrary<Sequence> {
  return fc
    .tuple(first, fc.array(phrase, { minLength: 3, maxLength: 9, size: 'max' }))
    .map(([begin, phrases]) => [...begin, ...phrases.flat()].slice(0, commandsMax));
}

function withoutGroup(): fc.Arbitrary<Sequence> {
  const { transaction, interleaved, refusal, takeover, strayCall, overlap } = producing(false);
  return ofPhrases(
    fc.constant([]),
    oneOf(
      [5, transaction],
      [1, interleaved],
      [2, refusal],
      [2, takeover],
      [2, overlap],
      [3, strayCall],
      [2, output],
      [3, reading],
      [3, administration],
    ),
  );
}

function withGroup(): fc.Arbitrary<Sequence> {
  const { transaction, interleaved, refusal, takeover, strayCall, overlap } = producing(true);
  return ofPhrases(
    oneOf<readonly Command[]>([3, fc.constant([{ kind: 'join' }])], [1, fc.constant([{ kind: 'join' }, { kind: 'join' }])]),
    oneOf(
      [
        6,
        fc
          .tuple(transaction, fc.boolean())
          .map(([commands, isRead]): Command[] => (isRead ? [...commands, { kind: 'consume' }] : [...commands])),
      ],
      [1, interleaved],
      [1, refusal],
      [2, takeover],
      [1, overlap],
      [2, strayCall],
      [2, output],
      [7, consuming],
      [1, rivalOffsets],
      [2, membership],
      [2, administration],
    ),
  );
}

function withOwnTopic(): fc.Arbitrary<Sequence> {
  return ofPhrases(
    fc.constant([{ kind: 'makeTopic', partitions: 2 }]),
    oneOf([6, ownTopic], [1, unknownTopic], [1, producing(false).transaction], [1, administration]),
  );
}

function withTimeout(): fc.Arbitrary<Sequence> {
  return ofPhrases(outlive, oneOf([4, producing(false).transaction], [1, reading], [1, administration]));
}
