import { expect } from 'vitest';
import { noHeaders, type StreamRecord } from '../core/record.js';
import type { KeyValueStore, OutputTopic, ProcessorContext, RecordMetadata, Topology } from '../topology/index.js';

export type Sent = readonly [topic: string, key: unknown, value: unknown, timestampMs: number];

/**
 * Runs a topology in memory: sinks collect, and what goes to a repartition topic is read again, through its serdes. Knows nothing of tasks,
 * transactions or failures.
 */
export function runner(topology: Topology): {
  sent: Sent[];
  dropped: string[];
  entries: Map<string, Map<unknown, { value: unknown; timestampMs: number }>>;
  pipe: (topicName: string, record: StreamRecord<unknown, unknown>) => unknown;
} {
  const sent: Sent[] = [];
  const dropped: string[] = [];
  const entries = new Map([...topology.stores.keys()].map((name) => [name, new Map<unknown, { value: unknown; timestampMs: number }>()]));
  const processors = new Map(
    [...topology.nodes.values()].flatMap((node) => (node.kind === 'processor' ? [[node.name, node.create()] as const] : [])),
  );
  const repartitions = new Set(topology.repartitionTopics.map(({ name }) => name));

  function write(target: OutputTopic<unknown, unknown>, { key, value, timestampMs }: StreamRecord<unknown, unknown>): void {
    const bytes = { key: target.key.serialize(key), value: target.value.serialize(value) };
    if (!repartitions.has(target.name)) sent.push([target.name, key, value, timestampMs]);
    else {
      const { topic: internal } = topology.repartitionTopics.find(({ name }) => name === target.name)!;
      pipe(target.name, {
        key: bytes.key === null ? null : internal.key.deserialize(bytes.key),
        value: bytes.value === null ? null : internal.value.deserialize(bytes.value),
        timestampMs,
        headers: noHeaders,
      });
    }
  }

  function storeOf(node: readonly string[], name: string): KeyValueStore<unknown, unknown> {
    expect(node).toContain(name);
    const held = entries.get(name)!;
    return {
      get: (key) => held.get(key)?.value,
      getWithTimestamp: (key) => held.get(key),
      put: (key, value) => void held.set(key, { value, timestampMs: 0 }),
      putWithTimestamp: (key, value, timestampMs) => void held.set(key, { value, timestampMs }),
      delete: (key) => void held.delete(key),
    } as KeyValueStore<unknown, unknown>;
  }

  function visit(name: string, record: StreamRecord<unknown, unknown>): unknown {
    const node = topology.nodes.get(name)!;
    const metadata: RecordMetadata = {
      topic: 't',
      partition: 1,
      offset: 2,
      timestampMs: record.timestampMs,
      headers: record.headers,
      attempt: 1,
      idempotencyKey: 't-1-2',
    };
    if (node.kind === 'source') return node.children.map((child) => visit(child, record));
    if (node.kind === 'sink') return write(typeof node.topic === 'function' ? node.topic(record, metadata) : node.topic, record);
    const context: ProcessorContext = {
      taskId: 'task/1',
      record: metadata,
      streamTimeMs: 11,
      nowMs: 12,
      signal: new AbortController().signal,
      forward: (next, child) => (child === undefined ? node.children : [child]).forEach((to) => visit(to, next)),
      send: (target, key, value, options) =>
        write(target as OutputTopic<unknown, unknown>, {
          key,
          value,
          timestampMs: options?.timestampMs ?? record.timestampMs,
          headers: noHeaders,
        }),
      advanceTime: () => expect.unreachable('a store that keeps time is needed'),
      drop: (reason) => void dropped.push(reason),
      rollback: () => void sent.push(['rolled back', null, null, 0]),
      store: (definition) => storeOf(node.stores, definition.name) as never,
    };
    return processors.get(name)!.process(record, context);
  }

  function pipe(topicName: string, record: StreamRecord<unknown, unknown>): unknown {
    const source = [...topology.nodes.values()].find(
      (node) => node.kind === 'source' && node.topics.some(({ name }) => name === topicName),
    );
    return visit(source!.name, record);
  }
  return { sent, dropped, entries, pipe };
}
