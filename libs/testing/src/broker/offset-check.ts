import type { OffsetToCommit } from '@tally/streams';

const metadataBytesMax = 4_000;

/** @returns what a real client would take wrongly or crash on; `undefined` when all is well. */
export function checkOffsets(offsets: readonly OffsetToCommit[]): string | undefined {
  const seen = new Set<string>();
  for (const { topic, partition, offset, metadata } of offsets) {
    const name = `${topic}-${partition}`;
    if (typeof topic !== 'string' || topic === '' || !Number.isInteger(partition) || partition < 0) return `a malformed partition ${name}`;
    if (seen.has(name)) return `${name} twice`;
    seen.add(name);
    if (!Number.isSafeInteger(offset) || offset < 0) return `the offset ${String(offset)} of ${name}`;
    if (metadata.includes('\0')) return `metadata of ${name} with a NUL`;
    if (Buffer.byteLength(metadata) > metadataBytesMax) return `metadata of ${name} longer than ${metadataBytesMax} bytes`;
  }
  return undefined;
}
