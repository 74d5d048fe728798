/** What must come out, computed from what was sent alone; and how to compare. Imports nothing of the engine. */

interface KeyedRecord {
  readonly partition: number;
  readonly offset: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
}

const text = (bytes: Uint8Array | null): string => (bytes === null ? 'null' : Buffer.from(bytes).toString('utf8'));

/** Running totals of record ids by key. */
export class TotalsModel {
  private readonly idsByKey = new Map<string, number[]>();
  records = 0;

  add(key: string, id: number): void {
    const ids = this.idsByKey.get(key);
    if (ids === undefined) this.idsByKey.set(key, [id]);
    else ids.push(id);
    this.records++;
  }

  get ids(): ReadonlyMap<string, readonly number[]> {
    return this.idsByKey;
  }

  /** `id:total` of each record, in order, by key. */
  outputs(): ReadonlyMap<string, readonly string[]> {
    return new Map(
      [...this.idsByKey].map(([key, ids]) => {
        let total = 0;
        return [key, ids.map((id) => `${id}:${(total += id)}`)];
      }),
    );
  }

  /** The last total of each key, as text. */
  totals(): ReadonlyMap<string, string> {
    return new Map([...this.idsByKey].map(([key, ids]) => [key, String(ids.reduce((sum, id) => sum + id, 0))]));
  }
}

/** Values by key, as texts, in the order of their offsets. */
export function sequencesOf(records: readonly KeyedRecord[]): ReadonlyMap<string, readonly string[]> {
  const sequences = new Map<string, string[]>();
  for (const { key, value } of records) {
    const name = text(key);
    const values = sequences.get(name);
    if (values === undefined) sequences.set(name, [text(value)]);
    else values.push(text(value));
  }
  return sequences;
}

const dataKind = 1;
const valueHeaderBytes = 9;

/** Does the changelog record hold an entry of the store, or what the engine keeps about it? */
export function isData({ key }: KeyedRecord): boolean {
  return key !== null && key[0] === dataKind;
}

/** The last value of each key in a changelog of string keys and 64-bit integers, as text. */
export function lastTotals(changelog: readonly KeyedRecord[]): ReadonlyMap<string, string> {
  const totals = new Map<string, string>();
  for (const record of changelog) {
    if (record.key === null || !isData(record)) continue;
    const key = text(record.key.subarray(1));
    if (record.value === null) totals.delete(key);
    else totals.set(key, String(Buffer.from(record.value).readBigInt64BE(valueHeaderBytes)));
  }
  return totals;
}

/** Keys whose sequences or values differ, with the first difference; empty when all is well. */
export function differences(what: string, expected: ReadonlyMap<string, unknown>, actual: ReadonlyMap<string, unknown>): readonly string[] {
  const found: string[] = [];
  for (const key of new Set([...expected.keys(), ...actual.keys()])) {
    const difference = differenceOf(expected.get(key), actual.get(key));
    if (difference !== undefined) found.push(`${what} of ${key}: ${difference}`);
  }
  return found;
}

function differenceOf(expected: unknown, actual: unknown): string | undefined {
  if (!Array.isArray(expected) || !Array.isArray(actual)) {
    return String(expected) === String(actual) ? undefined : `expected ${String(expected)}, found ${String(actual)}`;
  }
  const length = Math.max(expected.length, actual.length);
  for (let index = 0; index < length; index++) {
    if (expected[index] === actual[index]) continue;
    return `at ${index} expected ${expected.slice(index, index + 3).join(' ')} of ${expected.length}, found ${actual.slice(index, index + 3).join(' ')} of ${actual.length}`;
  }
  return undefined;
}

/** The sequences without what is there for the second time or more, and how many were. */
export function withoutRepeats(sequences: ReadonlyMap<string, readonly string[]>): {
  readonly first: ReadonlyMap<string, readonly string[]>;
  readonly repeats: number;
} {
  let repeats = 0;
  const first = new Map([...sequences].map(([key, values]) => [key, [...new Set(values)]]));
  for (const [key, values] of sequences) repeats += values.length - (first.get(key)?.length ?? 0);
  return { first, repeats };
}
