import { describe, expect, it } from 'vitest';
import { BrokerError } from '@tally/streams';
import { createKafkaBroker, type KafkaBrokerOptions } from './index.js';

function refusal(options: unknown): BrokerError {
  try {
    createKafkaBroker(options as KafkaBrokerOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(BrokerError);
    return error as BrokerError;
  }
  throw new Error('The options should have been refused.');
}

describe('options of the Kafka broker', () => {
  it.each<[option: string, options: unknown]>([
    ['options', null],
    ['brokers', {}],
    ['brokers', { brokers: [] }],
    ['brokers', { brokers: '' }],
    ['brokers', { brokers: 'localhost' }],
    ['brokers', { brokers: ['localhost:9092', 'localhost:99999'] }],
    ['brokers', { brokers: ['http://localhost:9092/'] }],
    ['brokers', { brokers: [9092] }],
    ['clientId', { brokers: 'a:1', clientId: '' }],
    ['clientId', { brokers: 'a:1', clientId: 'a b' }],
    ['requestTimeoutMs', { brokers: 'a:1', requestTimeoutMs: 0 }],
    ['closeTimeoutMs', { brokers: 'a:1', closeTimeoutMs: '5s' }],
    ['fetchProcess', { brokers: 'a:1', fetchProcess: 'yes' }],
    ['client', { brokers: 'a:1', client: [] }],
    ['client.sasl.username', { brokers: 'a:1', client: { 'sasl.username': null } }],
    ['bootstrap', { brokers: 'a:1', bootstrap: 'b:1' }],
  ])('names the option %s', (option, options) => {
    const error = refusal(options);
    expect(error.kind).toBe('invalid');
    expect(error.place.option).toBe(option);
    expect(error.message).toContain(option.replace('client.', '').replace('options', 'option'));
  });

  it.each([
    'group.id',
    'group.protocol',
    'group.instance.id',
    'transactional.id',
    'enable.auto.commit',
    'enable.auto.offset.store',
    'auto.offset.reset',
    'isolation.level',
    'enable.idempotence',
    'acks',
    'session.timeout.ms',
    'partition.assignment.strategy',
    'bootstrap.servers',
    'batch.size',
  ])('refuses the property %s, which Tally depends on', (property) => {
    for (const option of ['client', 'consumer', 'producer']) {
      const error = refusal({ brokers: 'a:1', [option]: { [property]: 'x' } });
      expect(error.message).toContain(`\`${option}\` must not set \`${property}\``);
      expect(error.place.option).toBe(`${option}.${property}`);
    }
  });

  it('refuses properties that the client does not know or cannot read', () => {
    expect(refusal({ brokers: 'a:1', client: { 'no.such.property': 1 } }).message).toContain('no.such.property');
    expect(refusal({ brokers: 'a:1', producer: { 'compression.codec': 'rar' } }).message).toContain('compression.codec');
    expect(refusal({ brokers: 'a:1', consumer: { 'queued.min.messages': 'many' } }).message).toContain('queued.min.messages');
  });

  it('takes addresses as a list or as one string, and properties of every type', () => {
    const properties = { 'socket.keepalive.enable': true, 'socket.timeout.ms': 30_000, 'client.rack': 'r1' };
    expect(createKafkaBroker({ brokers: 'a:1, [::1]:9093', client: properties }).name).toBe('a:1,[::1]:9093');
    expect(createKafkaBroker({ brokers: ['SSL://a.example:9093', 'b:2'] }).name).toBe('SSL://a.example:9093,b:2');
  });
});
