import type { KeyValueStore } from '@tally/streams';

/** A store for tests of what works on stores. */
export class MemoryStore implements KeyValueStore<string, bigint> {
  readonly entries = new Map<string, bigint>();

  get(key: string): bigint | undefined {
    return this.entries.get(key);
  }

  put(key: string, value: bigint): void {
    this.entries.set(key, value);
  }

  delete(key: string): void {
    this.entries.delete(key);
  }

  getWithTimestamp(key: string): { value: bigint; timestampMs: number } | undefined {
    const value = this.get(key);
    return value === undefined ? undefined : { value, timestampMs: 0 };
  }

  putWithTimestamp(key: string, value: bigint): void {
    this.put(key, value);
  }

  async *range(from: string, to: string): AsyncGenerator<readonly [string, bigint]> {
    for await (const entry of this.all()) if (entry[0] >= from && entry[0] <= to) yield entry;
  }

  async *all(): AsyncGenerator<readonly [string, bigint]> {
    yield* [...this.entries].sort(([left], [right]) => (left < right ? -1 : 1));
  }
}
