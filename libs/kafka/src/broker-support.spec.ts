import { describe, expect, it } from 'vitest';
import { BrokerSupport } from './broker-support.js';

function log(support: BrokerSupport, broker: string, lines: readonly string[]): void {
  const say = (text: string): void => support.line('APIVERSION', `[thrd:${broker}]: ${broker}: ${text}`);
  say('Broker API support:');
  for (const line of lines) say(`  ApiKey ${line}`);
  say(' Feature MsgVer1: Produce (2..32767) supported by broker');
  say('Enabling feature MsgVer1');
}

function supportOf(...lines: string[]): BrokerSupport {
  const support = new BrokerSupport();
  log(support, '127.0.0.1:9092/bootstrap', lines);
  return support;
}

describe('what a broker supports', () => {
  it('is enough from Kafka 4.0 on', () => {
    const support = supportOf('Produce (0) Versions 0..13', 'ConsumerGroupHeartbeat (68) Versions 0..1', 'Other (99) Versions 0..0');
    expect(support.known).toBe(true);
    expect(() => support.check('a:1')).not.toThrow();
  });

  it.each([
    ['does not support', ['Produce (0) Versions 0..11']],
    ['only its preview', ['Produce (0) Versions 0..11', 'ConsumerGroupHeartbeat (68) Versions 0..0']],
  ])('is refused where it %s the group protocol', (what, lines) => {
    expect(() => supportOf(...lines).check('a:1')).toThrow(expect.objectContaining({ code: 'UNSUPPORTED_BROKER', kind: 'invalid' }));
    expect(() => supportOf(...lines).check('a:1')).toThrow(what);
    expect(() => supportOf(...lines).check('a:1')).toThrow('Kafka 4.0 or newer');
  });

  it('is that of the oldest broker, each with its own list', () => {
    const support = supportOf('ConsumerGroupHeartbeat (68) Versions 0..1');
    support.line('APIVERSION', '[thrd:b:9092/2]: b:9092/2: Broker API support:');
    log(support, 'c:9092/3', ['ConsumerGroupHeartbeat (68) Versions 0..1']);
    expect(() => support.check('a:1')).not.toThrow();
    support.line('APIVERSION', '[thrd:b:9092/2]: b:9092/2:  Feature MsgVer1: Produce (2..32767) supported by broker');
    expect(() => support.check('a:1')).toThrow('Kafka 4.0');
  });

  it('is not judged before it is known', () => {
    const support = new BrokerSupport();
    support.line('APIVERSION', '[thrd:b:9092/2]: b:9092/2: Broker API support:');
    support.line('FEATURE', 'ApiKey Produce (0) Versions 0..13');
    expect(support.known).toBe(false);
    expect(() => support.check('a:1')).not.toThrow();
  });
});
