import { describe, expect, it } from 'vitest';
import {
  adminProperties,
  groupConsumerProperties,
  outputProducerProperties,
  readerProperties,
  transactionalProducerProperties,
} from './client-properties.js';
import { resolveOptions } from './options.js';

const options = resolveOptions({
  brokers: 'a:1',
  client: { 'ssl.ca.location': '/ca' },
  consumer: { 'queued.min.messages': 7 },
  producer: { 'linger.ms': 2 },
});
const listener = { assigned() {}, revoked() {}, lost() {}, failed() {} };
const consumer = groupConsumerProperties(options, { groupId: 'app', clientId: 'me', listener });
const transactional = { transactionalId: 'app-0', transactionTimeoutMs: 10_000, clientId: 'me' };
const producer = transactionalProducerProperties(options, transactional);
const reader = readerProperties(options, 'unused');

describe('properties of the client', () => {
  it('joins groups by the new protocol, with the range assignor and as a dynamic member', () => {
    expect(consumer).toMatchObject({ 'group.id': 'app', 'group.protocol': 'consumer', 'group.remote.assignor': 'range' });
    expect(consumer).not.toHaveProperty('group.instance.id');
    expect(consumer).not.toHaveProperty('session.timeout.ms');
  });

  it('never commits or chooses a start by itself', () => {
    for (const properties of [consumer, reader]) {
      expect(properties).toMatchObject({
        'enable.auto.commit': 'false',
        'enable.auto.offset.store': 'false',
        'auto.offset.reset': 'error',
        'isolation.level': 'read_committed',
      });
    }
  });

  it('fetches little ahead for the group, and much for a restore', () => {
    const without = resolveOptions({ brokers: 'a:1' });
    const ahead = { 'queued.min.messages': '10000', 'fetch.message.max.bytes': '65536' };
    expect(groupConsumerProperties(without, { groupId: 'app', clientId: 'me', listener })).toMatchObject(ahead);
    expect(readerProperties(without, 'unused')).toMatchObject({ 'queued.min.messages': '200000', 'fetch.message.max.bytes': '4194304' });
  });

  it('backs off from a full queue without spinning', () => {
    expect(Number(consumer['fetch.queue.backoff.ms'])).toBeGreaterThanOrEqual(5);
    expect(Number(consumer['fetch.queue.backoff.ms'])).toBeLessThanOrEqual(20);
  });

  it('keeps the long poll short, since seeks wait for it', () => {
    expect(Number(consumer['fetch.wait.max.ms'])).toBeGreaterThanOrEqual(20);
    expect(Number(consumer['fetch.wait.max.ms'])).toBeLessThanOrEqual(50);
  });

  it('asks readers for ends of partitions', () => {
    expect(reader['enable.partition.eof']).toBe('true');
  });

  it('does not wait a hundred milliseconds to send offsets after a commit', () => {
    expect(Number(producer['retry.backoff.ms'])).toBeLessThanOrEqual(10);
  });

  it('finds the broker again within a second', () => {
    for (const properties of [consumer, producer, reader]) expect(properties['reconnect.backoff.max.ms']).toBe('1000');
  });

  it('gives up on unknown topics soon', () => {
    expect(producer['topic.metadata.propagation.max.ms']).toBe('2000');
  });

  it('lets records of a transaction wait for more, and sends outputs that are visible at once without much delay', () => {
    const without = resolveOptions({ brokers: 'a:1' });
    expect(Number(transactionalProducerProperties(without, transactional)['linger.ms'])).toBe(50);
    expect(Number(outputProducerProperties(without)['linger.ms'])).toBe(5);
  });

  it('keeps batches below what topics allow', () => {
    expect(Number(producer['batch.size'])).toBeLessThan(1_000_000);
    expect(Number(producer['message.max.bytes'])).toBeGreaterThan(1_000_000);
  });

  it('asks for reports of failures alone', () => {
    for (const properties of [producer, outputProducerProperties(options)]) expect(properties['delivery.report.only.error']).toBe('true');
  });

  it("passes the user's properties to the clients that they are for", () => {
    for (const properties of [consumer, producer, reader, adminProperties(options)]) expect(properties['ssl.ca.location']).toBe('/ca');
    expect([consumer['queued.min.messages'], reader['queued.min.messages'], producer['queued.min.messages']]).toEqual([
      '7',
      '7',
      undefined,
    ]);
    expect([producer['linger.ms'], consumer['linger.ms']]).toEqual(['2', undefined]);
  });
});
