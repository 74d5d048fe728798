import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { murmur2, partitionForKey } from './murmur2.js';

/** From Kafka's own tests, and from its `Utils.murmur2` for keys of every remainder. */
const known: readonly (readonly [string, number])[] = [
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['', 275646681],
  ['a', -1563381124],
  ['ab', 316155434],
  ['abc', 479470107],
  ['abcd', -1323649548],
  ['üé', -1694128438],
  ['account-000042', 1259180380],
];

/** `Utils.murmur2` of arrays of 0 to 63 bytes, where byte i of n is n * 31 + i * 7 + i * i % 251. */
const byLength = [
  275646681, 1465400197, -1638775510, -1721805601, -1155292115, -1333613046, 763725894, -1497753839, 765360285, -912417311, 545797683,
  -1058590033, -2107906297, -996881480, -289528367, 154691698, -94819802, -512653488, -346113451, -1543379007, 696546872, -1769158623,
  1877989774, -1519872237, -1672824363, -2050435417, -353909102, 1419581551, 189744976, -871472537, 896112509, 1851462285, -1416320494,
  1916515709, -1033833747, 867685958, 787277045, -954160240, 332070480, 182519703, -1142848455, -2082247242, -807847664, 1829270276,
  1831589429, 571146597, -402427277, 1000399904, 773151223, 2023857717, -1043398946, -1169333659, 936081687, 1591569102, -564741630,
  -1017732658, 789548648, -1445725884, -1913829103, -452061159, 160567401, -819837045, -1289885042, -794292703,
];

describe('murmur2', () => {
  it.each(known)('hashes "%s" as Java does', (text, hash) => {
    expect(murmur2(Buffer.from(text))).toBe(hash);
  });

  it('hashes bytes above 127 and every length as Java does', () => {
    const hashes = byLength.map((_, length) =>
      murmur2(Uint8Array.from({ length }, (_byte, index) => length * 31 + index * 7 + ((index * index) % 251))),
    );
    expect(hashes).toEqual(byLength);
  });
});

describe('partitionForKey', () => {
  it('chooses the partition that a Java producer chooses', () => {
    expect(partitionForKey(Buffer.from('foobar'), 7)).toBe(0);
    expect(partitionForKey(Buffer.from('account-000042'), 7)).toBe(3);
    expect(partitionForKey(Buffer.from(''), 7)).toBe(2);
  });

  it('is always a partition of the topic', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.integer({ min: 1, max: 10_000 }), (key, partitions) => {
        const partition = partitionForKey(key, partitions);
        expect(Number.isInteger(partition) && partition >= 0 && partition < partitions).toBe(true);
      }),
    );
  });
});
