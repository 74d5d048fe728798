/** A source of all topics that match a pattern. Compiled, never run. */
import { json, type KStream, string, topic, topicPattern, type StreamsBuilder } from '@tally/streams';

interface Order {
  readonly atMs: number;
}

const orders = topicPattern('orders', /orders-.+/, { key: string(), value: json<Order>(), timestamps: ({ atMs }) => atMs });
// @ts-expect-error a pattern is a regular expression
topicPattern('orders', 'orders-.+', { key: string(), value: json<Order>() });
// @ts-expect-error the topics have partitions of their own
topicPattern('orders', /orders-.+/, { key: string(), value: json<Order>(), partitions: 3 });

export function patterns(streams: StreamsBuilder): void {
  const stream: KStream<string, Order> = streams.stream(orders);
  stream.to(topic('all', { key: string(), value: json<Order>() }));
  // @ts-expect-error it is only read
  stream.to(orders);
  // @ts-expect-error a table is made of one topic
  streams.table(orders);
  // @ts-expect-error a table is made of one topic
  streams.globalTable(orders);
}
