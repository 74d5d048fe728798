import type { ConsumedRecord, Headers } from '@tally/streams';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameAssembler, FrameCursor, type KnownStream, type StreamEnd } from './fetch-protocol.js';

const bytes = fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each));
const headers: fc.Arbitrary<Headers> = fc.array(fc.record({ name: fc.string({ unit: 'binary', maxLength: 8 }), value: bytes }), {
  maxLength: 3,
});
const content = fc.record({
  stream: fc.constantFrom(1, 7, 4_000_000_000),
  offset: fc.maxSafeNat(),
  timestampMs: fc.maxSafeInteger(),
  key: fc.option(bytes),
  value: fc.option(bytes),
  headers,
});
const ends: fc.Arbitrary<StreamEnd[]> = fc.array(fc.record({ stream: fc.constantFrom(1, 7), offset: fc.maxSafeNat() }), { maxLength: 3 });
const batch = fc.record({ records: fc.array(content, { maxLength: 6 }), ends });

type Content = typeof content extends fc.Arbitrary<infer T> ? T : never;

const place = (stream: number) => ({ topic: `topic-${stream}`, partition: stream % 5 });
const recordOf = ({ stream, ...rest }: Content): ConsumedRecord => ({ ...place(stream), ...rest });
const frameOf = ({ records, ends: its }: { records: Content[]; ends: StreamEnd[] }): Buffer =>
  encodeFrame(
    records.map(recordOf),
    records.map(({ stream }) => stream),
    its,
  );

/** All of a frame, so many records at a time. */
function read(frame: Buffer, recordsMax: number, streamOf: (id: number) => KnownStream | undefined) {
  const cursor = new FrameCursor(frame);
  const all: ConsumedRecord[] = [];
  while (cursor.recordsLeft > 0) {
    const some: ConsumedRecord[] = [];
    cursor.readRecords(recordsMax, some, streamOf);
    expect(some.length).toBeLessThanOrEqual(recordsMax);
    all.push(...some);
  }
  return { records: all, ends: cursor.readEnds() };
}

describe('frames of records', () => {
  it('bring what they were made of, in whatever pieces they come', () => {
    fc.assert(
      fc.property(
        fc.array(batch, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 4 }),
        (batches, step, most) => {
          const all = Buffer.concat(batches.map(frameOf));
          const assembler = new FrameAssembler();
          const frames: Buffer[] = [];
          for (let at = 0; at < all.length; at += step) frames.push(...assembler.add(all.subarray(at, at + step)));
          expect(frames).toHaveLength(batches.length);
          for (const [index, frame] of frames.entries()) {
            const { records, ends: its } = batches[index]!;
            expect(read(frame, most, (id) => ({ ...place(id), position: 0 }))).toEqual({ records: records.map(recordOf), ends: its });
          }
        },
      ),
    );
  });

  it('bring nothing of streams that are not known, and say where the others stand', () => {
    fc.assert(
      fc.property(batch, (given) => {
        const known: KnownStream = { ...place(7), position: -1 };
        const { records } = read(frameOf(given), 2, (id) => (id === 7 ? known : undefined));
        const expected = given.records.filter(({ stream }) => stream === 7).map(recordOf);
        expect(records).toEqual(expected);
        expect(known.position).toBe((expected.at(-1)?.offset ?? -2) + 1);
      }),
    );
  });

  it('may be let go of while a record of them is kept', () => {
    const records = Array.from({ length: 500 }, (_, offset) => ({
      ...place(1),
      offset,
      timestampMs: 1,
      key: Buffer.from('key'),
      value: Buffer.alloc(100),
      headers: [],
    }));
    const large = { ...place(1), offset: 500, timestampMs: 1, key: null, value: Buffer.alloc(20_000), headers: [] };
    const frame = encodeFrame(
      [...records, large],
      Array.from({ length: 501 }, () => 1),
      [],
    );
    const all = read(frame, 1_000, (id) => ({ ...place(id), position: 0 })).records;
    for (const { key, value } of all.slice(0, 500)) {
      expect(key!.buffer).not.toBe(frame.buffer);
      expect(value!.buffer.byteLength).toBeLessThanOrEqual(8_192);
    }
    expect(all[500]!.value!.buffer.byteLength).toBeLessThan(20_100);
  });
});
