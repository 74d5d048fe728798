/**
 * What Kafka Streams' persistent versioned store does, in the terms in which it does it: a value is kept as the latest one of its key, or with
 * those that ended in the same segment of time. A reference for tests; Tally's store keeps one sorted list instead.
 */
interface Version {
  readonly fromMs: number;
  /** null is a deletion. */
  readonly value: string | null;
}

/** Versions of one key that ended in one segment, oldest first. `nextMs` is the end of the last one. */
interface Segment {
  nextMs: number;
  versions: Version[];
}

export interface ReferenceRecord {
  readonly value: string;
  readonly timestampMs: number;
  readonly validToMs: number;
}

export interface Reference {
  observedMs: number;
  latest: Map<string, { value: string; timestampMs: number }>;
  /** By key, then by the number of the segment. */
  segments: Map<string, Map<number, Segment>>;
}

export function newReference(): Reference {
  return { observedMs: -1, latest: new Map(), segments: new Map() };
}

export class VersionedReference {
  constructor(
    private readonly state: Reference,
    private readonly retentionMs: number,
    private readonly segmentMs: number,
  ) {}

  isExpired(timestampMs: number): boolean {
    return timestampMs < this.state.observedMs - this.retentionMs;
  }

  put(key: string, value: string | null, timestampMs: number): number {
    const { state } = this;
    state.observedMs = Math.max(state.observedMs, timestampMs);
    const latest = state.latest.get(key);
    if (latest !== undefined && timestampMs >= latest.timestampMs) {
      if (timestampMs > latest.timestampMs) this.appendEnded(key, latest.value, latest.timestampMs, timestampMs);
      this.putLatest(key, value, timestampMs);
      return Number.POSITIVE_INFINITY;
    }
    let nextMs = latest?.timestampMs ?? Number.POSITIVE_INFINITY;
    for (const segment of this.segmentsFrom(key, timestampMs)) {
      if (segment.nextMs <= timestampMs) break;
      const { versions } = segment;
      if (firstMs(segment) <= timestampMs) return this.insert(key, segment, versions, value, timestampMs);
      nextMs = firstMs(segment);
    }
    this.putFirstOrLast(key, value, timestampMs, nextMs);
    return nextMs;
  }

  delete(key: string, timestampMs: number): ReferenceRecord | undefined {
    const existing = this.getAsOf(key, timestampMs);
    this.put(key, null, timestampMs);
    return existing;
  }

  get(key: string): ReferenceRecord | undefined {
    const latest = this.state.latest.get(key);
    return latest === undefined ? undefined : { ...latest, validToMs: Number.POSITIVE_INFINITY };
  }

  getAsOf(key: string, timestampMs: number): ReferenceRecord | undefined {
    const latest = this.get(key);
    if (latest !== undefined && latest.timestampMs <= timestampMs) return latest;
    if (this.isExpired(timestampMs)) return undefined;
    for (const segment of this.segmentsFrom(key, timestampMs)) {
      if (segment.nextMs <= timestampMs) return undefined;
      if (firstMs(segment) <= timestampMs)
        return records(segment).findLast((record) => record.timestampMs <= timestampMs && record.validToMs > timestampMs);
    }
    return undefined;
  }

  history(key: string): ReferenceRecord[] {
    const latest = this.get(key);
    const ended = this.segmentsFrom(key, Number.NEGATIVE_INFINITY).toReversed().flatMap(records);
    return latest === undefined ? ended : [...ended, latest];
  }

  private putLatest(key: string, value: string | null, timestampMs: number): void {
    if (value === null) this.state.latest.delete(key);
    else this.state.latest.set(key, { value, timestampMs });
  }

  /** The version before the timestamp ends there, and moves to the segment of its new end. */
  private insert(key: string, segment: Segment, versions: Version[], value: string | null, timestampMs: number): number {
    const index = versions.findLastIndex(({ fromMs }) => fromMs <= timestampMs);
    const found = versions[index]!;
    const validToMs = versions[index + 1]?.fromMs ?? segment.nextMs;
    if (found.fromMs === timestampMs) {
      versions[index] = { fromMs: timestampMs, value };
    } else if (this.segmentOf(key, timestampMs, false) === segment) {
      versions.splice(index + 1, 0, { fromMs: timestampMs, value });
    } else {
      this.appendEnded(key, found.value, found.fromMs, timestampMs);
      versions[index] = { fromMs: timestampMs, value };
    }
    return validToMs;
  }

  private putFirstOrLast(key: string, value: string | null, timestampMs: number, nextMs: number): void {
    if (nextMs === Number.POSITIVE_INFINITY) {
      if (value !== null) return this.putLatest(key, value, timestampMs);
      const existing = this.segmentOf(key, timestampMs, false);
      if (existing === undefined) this.segmentOf(key, timestampMs, true)!.nextMs = timestampMs;
      else if (existing.nextMs !== timestampMs) this.appendEnded(key, null, existing.nextMs, timestampMs);
      return undefined;
    }
    const segment = this.segmentOf(key, nextMs, true)!;
    if (segment.nextMs === Number.NEGATIVE_INFINITY || segment.nextMs <= timestampMs)
      return this.appendEnded(key, value, timestampMs, nextMs);
    segment.versions.unshift({ fromMs: timestampMs, value });
    return undefined;
  }

  private appendEnded(key: string, value: string | null, fromMs: number, toMs: number): void {
    const segment = this.segmentOf(key, toMs, true)!;
    if (segment.nextMs !== Number.NEGATIVE_INFINITY && segment.nextMs !== fromMs)
      segment.versions.push({ fromMs: segment.nextMs, value: null });
    segment.versions.push({ fromMs, value });
    segment.nextMs = toMs;
  }

  /** The segment of what ends then. One without versions stands for a deletion at `nextMs`. */
  private segmentOf(key: string, endMs: number, make: boolean): Segment | undefined {
    let segments = this.state.segments.get(key);
    if (segments === undefined) this.state.segments.set(key, (segments = new Map()));
    const number = Math.trunc(endMs / this.segmentMs);
    if (make && !segments.has(number)) segments.set(number, { nextMs: Number.NEGATIVE_INFINITY, versions: [] });
    return segments.get(number);
  }

  /** Live segments of the key that can hold what ends after the time, the last one first. */
  private segmentsFrom(key: string, timeMs: number): Segment[] {
    const firstLive = Math.trunc((this.state.observedMs - this.retentionMs) / this.segmentMs);
    return [...(this.state.segments.get(key) ?? [])]
      .filter(([number]) => number >= firstLive && number >= Math.trunc(timeMs / this.segmentMs))
      .toSorted(([left], [right]) => right - left)
      .map(([, segment]) => segment);
  }
}

function firstMs(segment: Segment): number {
  return segment.versions[0]?.fromMs ?? segment.nextMs;
}

function records({ versions, nextMs }: Segment): ReferenceRecord[] {
  return versions.flatMap(({ fromMs, value }, index) =>
    value === null ? [] : [{ value, timestampMs: fromMs, validToMs: versions[index + 1]?.fromMs ?? nextMs }],
  );
}
