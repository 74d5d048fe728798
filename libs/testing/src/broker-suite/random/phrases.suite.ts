/** Phrases: short runs of random commands that make sense together. */
import * as fc from 'fast-check';
import {
  abort,
  begin,
  commit,
  goodRecords,
  offset,
  oneRecord,
  place,
  producerId,
  recordsFor,
  sendOffsets,
  share,
  simpleCall,
  somePlaces,
  wrongFor,
  wrongRecord,
} from './calls.suite.js';
import type { Command, ProducerCall } from './commands.suite.js';

export type Phrase = fc.Arbitrary<readonly Command[]>;

type Weighted<T> = readonly [weight: number, arbitrary: fc.Arbitrary<T>];

export function oneOf<T>(...choices: readonly Weighted<T>[]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

function single(...choices: readonly Weighted<Command>[]): Phrase {
  return oneOf(...choices).map((command) => [command]);
}

function inTransaction(id: 'x' | 'y', calls: readonly ProducerCall[], former = false): Command[] {
  return calls.map((call) => ({ kind: 'transaction', producer: { id, former }, call }));
}

/** Phrases of producers; with a group they send offsets too. */
export function producing(withOffsets: boolean) {
  const work = withOffsets ? oneOf([3, goodRecords], [2, sendOffsets]) : goodRecords;

  /** begin, some work, and mostly an end. */
  const transaction: Phrase = fc
    .tuple(
      producerId,
      fc.array(work, { maxLength: 3 }),
      oneOf([6, simpleCall('commit')], [3, simpleCall('abort')], [1, simpleCall('close')]),
      fc.boolean(),
      fc.nat({ max: 7 }),
    )
    .map(([id, calls, end, isNew, isLeftOpen]) => {
      const commands = inTransaction(id, isLeftOpen === 0 ? [begin, ...calls] : [begin, ...calls, end]);
      return isNew ? [{ kind: 'open', id }, ...commands] : commands;
    });

  /** Two transactions beside each other. */
  const interleaved: Phrase = fc
    .tuple(
      fc.array(work, { minLength: 1, maxLength: 2 }),
      fc.array(work, { minLength: 1, maxLength: 2 }),
      simpleCall('commit', 'abort'),
      reading,
    )
    .map(([first, second, end, look]) => [
      ...inTransaction('x', [begin, ...first]),
      ...inTransaction('y', [begin, ...second]),
      ...inTransaction('x', [end]),
      ...look,
      ...inTransaction('y', [commit]),
    ]);

  /** A record is refused; then a transaction more, which may fail for the sake of the refused one. */
  const refusal: Phrase = fc
    .tuple(
      producerId,
      fc.array(goodRecords, { maxLength: 1 }),
      wrongRecord,
      simpleCall('commit', 'commit', 'abort'),
      oneOf([5, goodRecords], [1, wrongRecord]),
    )
    .map(([id, before, wrong, end, then]) => inTransaction(id, [begin, ...before, wrong, end, abort, begin, then, commit, abort]));

  /** A second producer takes the transactional id over, and the first one goes on. */
  const takeover: Phrase = fc
    .tuple(
      producerId,
      fc.array(work, { maxLength: 2 }),
      fc.array(oneOf([3, simpleCall('commit', 'commit', 'abort', 'begin', 'close')], [2, work]), { minLength: 1, maxLength: 3 }),
      fc.array(goodRecords, { maxLength: 1 }),
    )
    .map(([id, before, after, successor]) => [
      ...inTransaction(id, [begin, ...before]),
      { kind: 'open', id },
      ...inTransaction(id, after, true),
      ...inTransaction(id, [begin, ...successor, commit]),
    ]);

  const strayCall: Phrase = single([
    1,
    fc.record({
      kind: fc.constant('transaction' as const),
      producer: fc.record({ id: producerId, former: fc.nat({ max: 5 }).map((drawn) => drawn === 0) }),
      call: oneOf([4, simpleCall('begin', 'commit', 'abort', 'init', 'close')], [4, work], [1, wrongRecord]),
    }),
  ]);

  /** Of several records the later ones would come when the first call has been answered: so there is one. */
  const overlap: Phrase = fc
    .tuple(
      producerId,
      fc.array(goodRecords, { maxLength: 1 }),
      withOffsets ? oneOf([2, simpleCall('begin', 'commit', 'abort')], [2, sendOffsets]) : simpleCall('begin', 'commit', 'commit', 'abort'),
      oneOf([1, simpleCall('begin', 'commit', 'abort', 'close')], [1, oneRecord]),
      simpleCall('commit', 'abort'),
    )
    .map(([id, before, first, second, end]) => [
      ...inTransaction(id, first.call === 'begin' ? [] : [begin, ...before]),
      { kind: 'overlap', producer: { id, former: false }, first, second },
      ...inTransaction(id, [end]),
    ]);

  return { transaction, interleaved, refusal, takeover, strayCall, overlap };
}

export const outlive: Phrase = single([
  1,
  fc.record({ kind: fc.constant('outlive' as const), at: place, call: fc.oneof(simpleCall('commit', 'abort'), goodRecords) }),
]);

export const output: Phrase = fc.array(
  place.chain((at): fc.Arbitrary<Command> =>
    oneOf<Command>(
      [3, recordsFor(at).map((records) => ({ kind: 'output', at, records }))],
      [1, wrongFor(at).map((wrong) => ({ kind: 'outputWrong', at, wrong }))],
    ),
  ),
  { minLength: 1, maxLength: 3 },
);

export const reading: Phrase = single(
  [
    6,
    fc.record({
      kind: fc.constant('read' as const),
      at: somePlaces,
      share,
      isolation: fc.constantFrom('committed' as const, 'committed' as const, 'uncommitted' as const),
    }),
  ],
  [1, fc.record({ kind: fc.constant('readOutside' as const), at: place })],
);

export const administration: Phrase = single(
  [
    4,
    fc.record({
      kind: fc.constant('listOffsets' as const),
      at: somePlaces,
      spec: fc.constantFrom('earliest' as const, 'highWatermark' as const, 'lastStable' as const),
    }),
  ],
  [
    1,
    fc.record({
      kind: fc.constantFrom('listUnknown' as const, 'deleteUnknown' as const),
      unknown: fc.constantFrom('topic' as const, 'partition' as const),
    }),
  ],
  [3, fc.record({ kind: fc.constant('deleteRecords' as const), at: place, share })],
  [1, fc.record({ kind: fc.constant('deleteOutside' as const), at: place })],
  [1, fc.constant({ kind: 'describeTopics' as const })],
  [
    1,
    fc.record({
      kind: fc.constant('createTopic' as const),
      topic: fc.constantFrom(
        'existing' as const,
        'badName' as const,
        'badReplication' as const,
        'badConfig' as const,
        'badPartitions' as const,
      ),
    }),
  ],
  [1, fc.record({ kind: fc.constant('stableOffsets' as const), at: somePlaces })],
);

export const membership: Phrase = single(
  [4, fc.constant({ kind: 'join' as const })],
  [2, fc.record({ kind: fc.constant('leave' as const), at: place })],
  [1, fc.record({ kind: fc.constant('subscribe' as const), topics: fc.constantFrom('plain' as const, 'both' as const) })],
  [2, fc.constant({ kind: 'describeGroup' as const })],
);

export const consuming: Phrase = single(
  [6, fc.constant({ kind: 'consume' as const })],
  [2, fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const), at: somePlaces })],
  [2, fc.record({ kind: fc.constant('seek' as const), at: place, share })],
  [1, fc.record({ kind: fc.constant('assignAgain' as const), at: place, share })],
  [1, fc.record({ kind: fc.constant('position' as const), at: place })],
  [2, fc.record({ kind: fc.constant('commitOffsets' as const), offset })],
  [2, fc.record({ kind: fc.constant('stableOffsets' as const), at: somePlaces })],
);

/** Offsets of one partition in a transaction, and outside of it meanwhile. */
export const rivalOffsets: Phrase = fc
  .tuple(producerId, offset, offset, fc.boolean(), simpleCall('commit', 'abort'))
  .map(([id, inside, outside, isAsked, end]) => {
    const { at } = inside;
    const ask: Command = { kind: 'stableOffsets', at: [at] };
    return [
      ...inTransaction(id, [begin, { call: 'sendOffsets', offsets: [inside], by: 'holder' }]),
      ...(isAsked ? [ask] : []),
      { kind: 'commitOffsets', offset: { ...outside, at } },
      ...inTransaction(id, [end]),
      ask,
    ];
  });

/** A record for a topic that does not exist: the client hopes for it, for two seconds, once per producer. */
export const unknownTopic: Phrase = fc
  .tuple(producerId, fc.array(goodRecords, { maxLength: 1 }), fc.constantFrom(commit, abort), goodRecords)
  .map(([id, before, end, then]) => [
    { kind: 'open', id },
    ...inTransaction(id, [begin, ...before, { call: 'produceWrong', at: 'plain/0', wrong: 'topic' }, end, abort, begin, then, commit]),
  ]);

/** The life of a topic that only this sequence has. */
export const ownTopic: Phrase = single(
  [4, fc.record({ kind: fc.constant('makeTopic' as const), partitions: fc.integer({ min: 1, max: 3 }) })],
  [2, fc.record({ kind: fc.constant('growTopic' as const), more: fc.integer({ min: 1, max: 2 }) })],
  [3, fc.constant({ kind: 'removeTopic' as const })],
  [4, fc.record({ kind: fc.constant('writeTopic' as const), partition: fc.nat({ max: 3 }), records: recordsFor('plain/0') })],
  [3, fc.constant({ kind: 'lookAtTopic' as const })],
);
