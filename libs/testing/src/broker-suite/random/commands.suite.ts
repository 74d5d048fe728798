/** The commands that random sequences are made of. Each is plain data, so that a sequence can be printed, cut down and run again. */

/** Partitions by the roles that their topics play: `plain` refuses batches of more than 20,000 bytes, `compacted` records without a key. */
export type Place = 'plain/0' | 'plain/1' | 'compacted/0';
export const places: readonly Place[] = ['plain/0', 'plain/1', 'compacted/0'];

export const maxMessageBytes = 20_000;

/** A transactional producer: the present or the former user of a transactional id. */
export interface ProducerReference {
  readonly id: 'x' | 'y';
  readonly former: boolean;
}

export type RecordPart = 'null' | 'empty' | 'a' | 'b' | 'binary' | 'long';

export interface RecordShape {
  readonly key: RecordPart;
  readonly value: RecordPart;
  readonly timestampMs: number;
  /** Names of headers, each with a value of its own. */
  readonly headers: readonly string[];
}

/** What is wrong with a record: the first three for the broker, the others for the client, which does not queue them. */
export type Wrong = 'tooLarge' | 'ofTheFuture' | 'withoutKey' | 'timestampZero' | 'timestampNoNumber' | 'header' | 'partition' | 'topic';

export type ProducerCall =
  | { readonly call: 'begin' | 'commit' | 'abort' | 'close' }
  | { readonly call: 'init' }
  | { readonly call: 'produce'; readonly at: Place; readonly records: readonly RecordShape[] }
  | { readonly call: 'produceWrong'; readonly at: Place; readonly wrong: Wrong }
  | { readonly call: 'sendOffsets'; readonly offsets: readonly PlannedOffset[]; readonly by: 'holder' | 'formerMember' };

/** An offset to be committed, counted from where the sequence has found the partition. */
export interface PlannedOffset {
  readonly at: Place;
  readonly offset: number;
  readonly metadata: string;
}

export type Command =
  | { readonly kind: 'open'; readonly id: 'x' | 'y' }
  | { readonly kind: 'transaction'; readonly producer: ProducerReference; readonly call: ProducerCall }
  /** The second call is made before the first has been answered. */
  | { readonly kind: 'overlap'; readonly producer: ProducerReference; readonly first: ProducerCall; readonly second: ProducerCall }
  /** A transaction that outlives its timeout, and what its producer tries then. */
  | { readonly kind: 'outlive'; readonly at: Place; readonly call: ProducerCall }
  | { readonly kind: 'output'; readonly at: Place; readonly records: readonly RecordShape[] }
  | { readonly kind: 'outputWrong'; readonly at: Place; readonly wrong: Wrong }
  | { readonly kind: 'join' }
  | { readonly kind: 'leave' | 'position'; readonly at: Place }
  | { readonly kind: 'subscribe'; readonly topics: 'plain' | 'both' }
  | { readonly kind: 'consume' | 'describeGroup' }
  | { readonly kind: 'pause' | 'resume'; readonly at: readonly Place[] }
  | { readonly kind: 'seek' | 'assignAgain'; readonly at: Place; readonly share: number }
  | { readonly kind: 'commitOffsets'; readonly offset: PlannedOffset }
  | { readonly kind: 'stableOffsets'; readonly at: readonly Place[] }
  | { readonly kind: 'read'; readonly at: readonly Place[]; readonly share: number; readonly isolation: 'committed' | 'uncommitted' }
  | { readonly kind: 'readOutside'; readonly at: Place }
  | { readonly kind: 'deleteOutside'; readonly at: Place }
  | { readonly kind: 'listOffsets'; readonly at: readonly Place[]; readonly spec: 'earliest' | 'highWatermark' | 'lastStable' }
  | { readonly kind: 'listUnknown' | 'deleteUnknown'; readonly unknown: 'topic' | 'partition' }
  | { readonly kind: 'deleteRecords'; readonly at: Place; readonly share: number }
  | { readonly kind: 'describeTopics' }
  | { readonly kind: 'createTopic'; readonly topic: 'existing' | 'badName' | 'badReplication' | 'badConfig' | 'badPartitions' }
  // A topic of the sequence's own, which comes and goes.
  | { readonly kind: 'makeTopic'; readonly partitions: number }
  | { readonly kind: 'growTopic'; readonly more: number }
  | { readonly kind: 'removeTopic' | 'lookAtTopic' }
  | { readonly kind: 'writeTopic'; readonly partition: number; readonly records: readonly RecordShape[] };

export type Sequence = readonly Command[];

/** One line per command. */
export function describeSequence(sequence: Sequence): string {
  return sequence.map((command, index) => `${index + 1}. ${JSON.stringify(command)}`).join('\n');
}
