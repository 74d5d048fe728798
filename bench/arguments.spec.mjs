import { describe, expect, it } from 'vitest';
import { contenderNames, needsBroker, parseArguments } from './arguments.mjs';
import { familyNames } from './families.mjs';

describe('parseArguments', () => {
  it('has the usual measurement as its defaults', () => {
    expect(parseArguments(['throughput'])).toEqual({
      mode: 'throughput',
      json: undefined,
      records: 2_000_000,
      keys: 100_000,
      repeat: 1,
      seed: 42,
      commitMs: 100,
      rate: 5_000,
      seconds: 30,
      allocator: 'auto',
      smoke: false,
      profile: undefined,
      only: contenderNames,
      families: familyNames,
    });
  });

  it('takes values after a space or an equals sign', () => {
    const options = parseArguments([
      'latency',
      '--json',
      'out.json',
      '--commit-ms=20',
      '--seconds',
      '5',
      '--only',
      'kafkaStreams,tally',
      '--allocator=none',
    ]);
    expect(options).toMatchObject({ json: 'out.json', commitMs: 20, seconds: 5, only: ['tally', 'kafkaStreams'], allocator: 'none' });
  });

  it('is small when it is only to show that all runs, and still takes sizes', () => {
    expect(parseArguments(['throughput', '--smoke'])).toMatchObject({ smoke: true, records: 20_000, keys: 1_000 });
    expect(parseArguments(['throughput', '--records', '500', '--smoke'])).toMatchObject({ smoke: true, records: 500 });
  });

  it('measures the test kit without a broker, with fewer records', () => {
    expect(parseArguments(['testkit'])).toMatchObject({ mode: 'testkit', records: 300_000, keys: 10_000, only: [] });
    expect(['throughput', 'latency', 'restore', 'testkit'].filter((mode) => needsBroker(parseArguments([mode]).mode))).not.toContain(
      'testkit',
    );
    expect(() => parseArguments(['testkit', '--only', 'tally'])).toThrow(/--only: there is nothing to choose from/);
  });

  it('measures those families of operators that are named', () => {
    expect(parseArguments(['operators'])).toMatchObject({ records: 1_000_000, only: ['tally', 'kafkaStreams'], families: familyNames });
    expect(parseArguments(['operators', '--families', 'session,tumbling']).families).toEqual(['tumbling', 'session']);
    expect(() => parseArguments(['operators', '--families', 'triangles'])).toThrow(/"triangles" is not measured here/);
  });

  it('measures the cost of telemetry several times, for it is small', () => {
    expect(parseArguments(['telemetry'])).toMatchObject({ mode: 'telemetry', records: 2_000_000, repeat: 3, only: ['tally'] });
    expect(parseArguments(['telemetry', '--smoke'])).toMatchObject({ records: 20_000, repeat: 1 });
  });

  it.each([
    [[], /Say what to measure/],
    [['speed'], /"speed" cannot be measured/],
    [['throughput', '--fast'], /does not know the option "--fast"/],
    [['throughput', '--records'], /--records needs a value/],
    [['throughput', '--json', '--smoke'], /--json needs a value/],
    [['throughput', '--records', 'many'], /--records takes a whole number from 1 on, not "many"/],
    [['throughput', '--records', '1e6'], /not "1e6"/],
    [['throughput', '--repeat', '0'], /--repeat takes a whole number from 1 on, not "0"/],
    [['throughput', '--only', 'flink'], /"flink" is not measured here/],
    [['latency', '--only', 'rawClient'], /"rawClient" is not measured here; there are tally, kafkaStreams/],
    [['throughput', '--only', ','], /--only names nothing/],
  ])('refuses %j', (words, message) => {
    expect(() => parseArguments(words)).toThrow(message);
  });
});
