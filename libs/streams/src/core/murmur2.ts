/**
 * Murmur2 as Kafka's Java clients compute it, which decides what partition a key belongs to.
 */
const seed = 0x9747b28c;
const multiplier = 0x5bd1e995;

/** The hash, a signed 32-bit integer. */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length;
  const end = length & ~3;
  let hash = seed ^ length;
  for (let index = 0; index < end; index += 4) {
    let word = bytes[index]! | (bytes[index + 1]! << 8) | (bytes[index + 2]! << 16) | (bytes[index + 3]! << 24);
    word = Math.imul(word, multiplier);
    word ^= word >>> 24;
    hash = Math.imul(hash, multiplier) ^ Math.imul(word, multiplier);
  }
  const rest = length & 3;
  if (rest > 0) {
    if (rest === 3) hash ^= bytes[end + 2]! << 16;
    if (rest >= 2) hash ^= bytes[end + 1]! << 8;
    hash = Math.imul(hash ^ bytes[end]!, multiplier);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, multiplier);
  return hash ^ (hash >>> 15);
}

/** The partition that Java producers choose for a key; also for an empty one. */
export function partitionForKey(key: Uint8Array, partitions: number): number {
  return partitions === 1 ? 0 : (murmur2(key) & 0x7fffffff) % partitions;
}
