import type { TopicPartitionOffset } from '@tally/streams';
import type { SimulatedCluster } from '../cluster.js';
import type { Isolation, LogSlice } from '../log.js';

export interface FetchRequest<P extends TopicPartitionOffset> {
  /** In the order in which they may fill the answer. */
  readonly from: Iterable<P>;
  readonly recordsMax: number;
  readonly isolation: Isolation;
  /** Nothing behind what the cluster doles out is brought. */
  readonly onlyReleased: boolean;
}

export interface FetchedSlice<P extends TopicPartitionOffset> {
  readonly from: P;
  /** `undefined`: the offset is outside of the partition. */
  readonly slice: LogSlice | undefined;
}

/** Of partitions that do not exist nothing is said: they may come. */
export function fetch<P extends TopicPartitionOffset>(
  { topics }: SimulatedCluster,
  { from, recordsMax, isolation, onlyReleased }: FetchRequest<P>,
): FetchedSlice<P>[] {
  const slices: FetchedSlice<P>[] = [];
  let left = recordsMax;
  for (const start of from) {
    if (left <= 0) break;
    const log = topics.findLog(start);
    if (log === undefined) continue;
    const isInRange = start.offset >= log.logStart && start.offset <= log.highWatermark;
    const slice = isInRange ? log.read(start.offset, left, isolation, onlyReleased ? log.released : undefined) : undefined;
    slices.push({ from: start, slice });
    left -= slice?.records.length ?? 0;
  }
  return slices;
}
