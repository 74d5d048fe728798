import { describe, expect, it } from 'vitest';
import { cpuTicks, peakRssKb } from './process-figures.mjs';

const times = '1 100 100 0 -1 4194304 2000 0 5 0 731 269 0 0 20 0 12 0 1000 1100000 50000';

describe('cpuTicks', () => {
  it('adds user and system time', () => {
    expect(cpuTicks(`4242 (node) S ${times}`)).toBe(1_000);
  });

  it('is not misled by a command name with spaces and parentheses', () => {
    expect(cpuTicks(`4242 (my) (odd) 9 9 name) R ${times}`)).toBe(1_000);
  });

  it('refuses what is no process statistics', () => {
    expect(() => cpuTicks('4242 (node) S 1 2')).toThrow(/no processor times/);
  });
});

describe('peakRssKb', () => {
  it('reads the high-water mark, not the current size', () => {
    expect(peakRssKb('Name:\tnode\nVmPeak:\t  900000 kB\nVmHWM:\t  251024 kB\nVmRSS:\t  100000 kB\n')).toBe(251_024);
  });

  it('says that a process has ended, which has no memory any more', () => {
    expect(() => peakRssKb('Name:\tnode\nState:\tZ (zombie)\n')).toThrow(/has ended/);
  });
});
