import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { TopicPartition } from '@tally/streams';
import { KafkaAdmin } from './admin.js';
import { resolveOptions } from './options.js';

type Answer = { topic: string; partition: number; offset: number }[];

type Callback<T> = (error: unknown, answer?: T) => void;

const client = vi.hoisted(() => ({
  listOffsets: vi.fn<(asked: readonly TopicPartition[], options: unknown, callback: Callback<Answer>) => void>(),
  describeTopics: vi.fn<(names: readonly string[], options: unknown, callback: Callback<unknown>) => void>(),
  getMetadata: vi.fn<(options: unknown, callback: Callback<unknown>) => void>((_options, callback) => callback(undefined)),
  disconnect: vi.fn<() => void>(),
}));

vi.mock('./native.js', () => ({
  loadNativeModule: () => ({
    AdminClient: {
      create: () => client,
      OffsetSpec: { EARLIEST: { timestamp: -2 }, LATEST: { timestamp: -1 } },
      IsolationLevel: { READ_UNCOMMITTED: 0, READ_COMMITTED: 1 },
    },
  }),
}));

const options = resolveOptions({ brokers: 'a:1', requestTimeoutMs: 200 });
const range = (count: number): TopicPartition[] => Array.from({ length: count }, (_, partition) => ({ topic: 't', partition }));

function answers(offsetOf: (partition: number, call: number) => number): void {
  let call = 0;
  client.listOffsets.mockImplementation(
    (asked: readonly TopicPartition[], _options: unknown, callback: (error: unknown, answer: Answer) => void) => {
      call++;
      callback(
        undefined,
        asked.map(({ topic, partition }) => ({ topic, partition, offset: offsetOf(partition, call) })),
      );
    },
  );
}

describe('the admin client', () => {
  beforeEach(() => vi.clearAllMocks());

  it('never takes a partition without an answer for an offset', async () => {
    // While a broker is away the client now and then reports success, with the offset -1001.
    answers((partition, call) => (partition === 1 && call === 1 ? -1_001 : 7));
    const admin = new KafkaAdmin(options);
    expect(await admin.listOffsets(range(2), 'highWatermark')).toEqual(range(2).map((at) => ({ ...at, offset: 7 })));
    expect(client.listOffsets).toHaveBeenCalledTimes(2);
    expect(client.getMetadata).toHaveBeenCalledWith(expect.objectContaining({ topic: 't' }), expect.any(Function));
    answers(() => -1_001);
    await expect(admin.listOffsets(range(1), 'lastStable')).rejects.toMatchObject({
      kind: 'retriable',
      place: { topic: 't', partition: 0 },
    });
  });

  it('asks for many partitions in several requests, and for each once', async () => {
    answers((partition) => partition);
    const admin = new KafkaAdmin(options);
    const asked = [...range(1_200), ...range(3)];
    expect(await admin.listOffsets(asked, 'earliest')).toEqual(asked.map((at) => ({ ...at, offset: at.partition })));
    expect(client.listOffsets.mock.calls.map(([partitions]) => partitions.length)).toEqual([500, 500, 200]);
    expect(await admin.listOffsets([], 'earliest')).toEqual([]);
    expect(client.listOffsets).toHaveBeenCalledTimes(3);
  });

  it('never takes a topic without partitions for one', async () => {
    client.describeTopics.mockImplementation((names, _options, callback) =>
      callback(
        undefined,
        names.map((name) => ({ name, topicId: { base64: 'id' }, partitions: [] })),
      ),
    );
    await expect(new KafkaAdmin(options).describeTopics(['t'])).rejects.toMatchObject({ kind: 'retriable', place: { topic: 't' } });
  });
});
