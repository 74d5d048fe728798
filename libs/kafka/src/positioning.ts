/** Seeks, and waking the client's fetchers. Shared by the group consumer and the reader. */
import { type BrokerError, partitionName, type TopicPartition } from '@tally/streams';
import { classify, errorNumbers } from './errors.js';
import { nativeCall } from './native-call.js';
import type { NativeConsumer, NativeOffset } from './native.js';

const seekAttemptsMax = 50;
const seekPauseMs = 20;
const kicksMax = 8;
const kickTimeoutMs = 1_000;

/** Resolves when every seek has taken effect: only then are records from before it out of the way. */
export async function seekAll(client: NativeConsumer, targets: readonly NativeOffset[], timeoutMs: number): Promise<void> {
  await Promise.all(targets.map((target) => seekOne(client, target, timeoutMs)));
}

async function seekOne(client: NativeConsumer, target: NativeOffset, timeoutMs: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await nativeCall<void>(
        (thrown): BrokerError => classify(thrown, 'consume', `Seeking ${partitionName(target)} to ${target.offset}`, target),
        (callback) => client.seek(target, timeoutMs, callback),
      );
    } catch (error) {
      // A partition that was just assigned has not begun to fetch yet; the client refuses to seek it.
      if ((error as BrokerError).brokerCode !== errorNumbers.state || attempt === seekAttemptsMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, seekPauseMs));
    }
  }
}

/**
 * A client whose partitions were all paused sleeps up to a second after they are resumed. A request to their leaders wakes it. One
 * partition after another, a few of them: one wakes its broker for all of its partitions.
 */
export async function kickFetchers(client: NativeConsumer, partitions: readonly TopicPartition[]): Promise<void> {
  for (const at of partitions.slice(0, kicksMax)) {
    await new Promise<void>((resolve) => {
      client.queryWatermarkOffsets(at.topic, at.partition, kickTimeoutMs, () => resolve());
    });
  }
}
