import { EventEmitter } from 'node:events';
import { instrumentWorkers } from '@tally/streams';
import { afterEach, describe, expect, it } from 'vitest';
import { groupConsumerProperties } from './client-properties.js';
import { resolveOptions } from './options.js';
import { QueueWatch } from './queue-watch.js';

describe('the queues of native clients', () => {
  it('are summed up over the clients that are there', () => {
    const watch = new QueueWatch();
    const [consumer, producer] = [new EventEmitter(), new EventEmitter()];
    const forget = watch.follow(consumer);
    watch.follow(producer);
    expect(watch.queues).toEqual({ fetchedRecords: 0, unsentRecords: 0 });
    const partitions = { '-1': { fetchq_cnt: 0 }, 0: { fetchq_cnt: 7 }, 1: { fetchq_cnt: 5 } };
    consumer.emit('event.stats', { message: JSON.stringify({ type: 'consumer', topics: { payments: { partitions } } }) });
    producer.emit('event.stats', { message: JSON.stringify({ type: 'producer', msg_cnt: 3 }) });
    expect(watch.queues).toEqual({ fetchedRecords: 12, unsentRecords: 3 });
    const forgetCount = watch.count(() => 4);
    expect(watch.queues.fetchedRecords).toBe(16);
    forgetCount();
    producer.emit('event.stats', { message: JSON.stringify({ type: 'producer', msg_cnt: 0 }) });
    forget();
    expect(watch.queues).toEqual({ fetchedRecords: 0, unsentRecords: 0 });
  });
});

describe('the statistics of native clients', () => {
  afterEach(() => instrumentWorkers(undefined));

  const intervalOf = (client: Readonly<Record<string, string>> = {}): string | undefined => {
    const listener = { assigned() {}, revoked() {}, lost() {}, failed() {} };
    const options = resolveOptions({ brokers: 'localhost:9092', client });
    return groupConsumerProperties(options, { groupId: 'g', clientId: 'c', listener })['statistics.interval.ms'];
  };

  it('are asked for only where telemetry is on, and as often as the user says', () => {
    expect(intervalOf()).toBeUndefined();
    instrumentWorkers(() => ({ hooks: {} }));
    expect(intervalOf()).toBe('5000');
    expect(intervalOf({ 'statistics.interval.ms': '1000' })).toBe('1000');
  });
});
