/** Random calls of a producer, and random places, records and offsets. */
import * as fc from 'fast-check';
import { type Place, places, type PlannedOffset, type ProducerCall, type RecordShape, type Wrong } from './commands.suite.js';

export const place = fc.constantFrom(...places);
export const somePlaces = fc.subarray([...places], { minLength: 1 });
/** Where between the start and the end of a partition: in fifths. */
export const share = fc.nat({ max: 5 });
/** Of two transactional ids; most of the time one of them, so that there is a story. */
export const producerId = fc.constantFrom('x' as const, 'x' as const, 'y' as const);

/** Records that the topic takes: a compacted one wants keys. */
export function recordsFor(at: Place, countMax = 3): fc.Arbitrary<readonly RecordShape[]> {
  const keys = ['empty', 'a', 'b', 'binary'] as const;
  return fc.array(
    fc.record<RecordShape>({
      key: at === 'compacted/0' ? fc.constantFrom(...keys) : fc.constantFrom('null', ...keys),
      value: fc.constantFrom('null', 'empty', 'a', 'b', 'binary', 'long'),
      timestampMs: fc.constantFrom(1, -1, -86_400_000, 1_700_000_000_000, 1_700_000_000_001),
      headers: fc.constantFrom([], [], ['one'], ['same', 'other', 'same'], ['', 'empty']),
    }),
    { minLength: 1, maxLength: countMax },
  );
}

export function wrongFor(at: Place): fc.Arbitrary<Wrong> {
  return at === 'compacted/0'
    ? fc.constantFrom('withoutKey', 'withoutKey', 'ofTheFuture', 'header')
    : fc.constantFrom('tooLarge', 'tooLarge', 'ofTheFuture', 'timestampZero', 'timestampNoNumber', 'header', 'partition');
}

export const offset: fc.Arbitrary<PlannedOffset> = fc.record({
  at: place,
  offset: fc.nat({ max: 9 }),
  metadata: fc.constantFrom('', 'm', 'v1 ünïcode'),
});

export const goodRecords: fc.Arbitrary<ProducerCall> = place.chain((at) =>
  recordsFor(at).map((records) => ({ call: 'produce', at, records })),
);
export const oneRecord: fc.Arbitrary<ProducerCall> = place.chain((at) =>
  recordsFor(at, 1).map((records) => ({ call: 'produce', at, records })),
);
export const wrongRecord: fc.Arbitrary<ProducerCall> = place.chain((at) =>
  wrongFor(at).map((wrong) => ({ call: 'produceWrong', at, wrong })),
);
export const sendOffsets: fc.Arbitrary<ProducerCall> = fc.record({
  call: fc.constant('sendOffsets' as const),
  offsets: fc.uniqueArray(offset, { minLength: 1, maxLength: 2, selector: ({ at }) => at }),
  by: fc.constantFrom('holder' as const, 'holder' as const, 'holder' as const, 'holder' as const, 'formerMember' as const),
});

export function simpleCall(...calls: ('begin' | 'commit' | 'abort' | 'close' | 'init')[]): fc.Arbitrary<ProducerCall> {
  return fc.constantFrom(...calls).map((call) => ({ call }));
}

export const begin: ProducerCall = { call: 'begin' };
export const commit: ProducerCall = { call: 'commit' };
export const abort: ProducerCall = { call: 'abort' };
