import { expect, it } from 'vitest';
import { figuresOf } from './throughput.mjs';

const measured = (/** @type {number} */ recordsPerSecond) => ({
  recordsPerSecond,
  cpuSecondsPerMillion: 9.87654,
  peakRssMb: 321.54321,
  wallSeconds: 30,
});

it('gives the figures and the ratios of a whole run', () => {
  const figures = figuresOf(
    new Map([
      ['tally', measured(120_000.4)],
      ['tallyHandler', measured(110_000)],
      ['kafkaStreams', measured(100_000)],
      ['kafkaStreamsTransactional', measured(60_000)],
      ['rawClient', measured(240_000)],
    ]),
  );
  expect(figures).toEqual({
    tally: { recordsPerSecond: 120_000, cpuSecondsPerMillion: 9.88, peakRssMb: 321.5 },
    tallyHandler: { recordsPerSecond: 110_000, cpuSecondsPerMillion: 9.88, peakRssMb: 321.5 },
    kafkaStreams: { recordsPerSecond: 100_000, cpuSecondsPerMillion: 9.88, peakRssMb: 321.5 },
    kafkaStreamsTransactional: { recordsPerSecond: 60_000, cpuSecondsPerMillion: 9.88, peakRssMb: 321.5 },
    rawClient: { recordsPerSecond: 240_000, cpuSecondsPerMillion: 9.88, peakRssMb: 321.5 },
    ratios: { kafkaStreams: 1.2, kafkaStreamsTransactional: 2, rawClient: 0.5 },
  });
});

it('has no ratio to what did not take part', () => {
  expect(figuresOf(new Map([['rawClient', measured(1)]])).ratios).toEqual({});
});
