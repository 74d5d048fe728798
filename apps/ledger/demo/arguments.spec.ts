import { describe, expect, it } from 'vitest';
import { ArgumentError } from '../load/arguments.js';
import { parseArguments } from './arguments.js';

describe('parseArguments', () => {
  it('has defaults for everything', () => {
    expect(parseArguments([])).toEqual({
      payments: 200_000,
      instances: 2,
      kills: 3,
      seed: 1,
      accounts: 10_000,
      ratePerSecond: 8_000,
      json: undefined,
      keep: false,
    });
  });

  it('takes every option', () => {
    const args = '--payments 2000000 --instances 3 --kills 5 --seed 7 --accounts 50 --rate 500 --json out.json --keep'.split(' ');
    expect(parseArguments(args)).toEqual({
      payments: 2_000_000,
      instances: 3,
      kills: 5,
      seed: 7,
      accounts: 50,
      ratePerSecond: 500,
      json: 'out.json',
      keep: true,
    });
  });

  it('asks for help', () => {
    expect(parseArguments(['--help'])).toBe('help');
  });

  it.each([
    [['--payments', 'many'], '--payments must be a whole number from 10000 to 20000000'],
    [['--payments', '9999'], '--payments must be a whole number from 10000'],
    [['--payments=-5'], "it is '-5'"],
    [['--instances', '0'], '--instances must be a whole number from 1 to 12'],
    [['--kills', '1.5'], '--kills must be a whole number from 0 to 10'],
    [['--seed', ''], "--seed must be a whole number from 0 to 4294967295; it is ''"],
    [['--json', ''], '--json needs the name of a file'],
    [['--json'], '--json'],
    [['--paymnets', '5'], '--paymnets'],
    [['stray'], 'stray'],
  ])('refuses %j and shows the usage', (args, message) => {
    expect(() => parseArguments(args)).toThrow(ArgumentError);
    expect(() => parseArguments(args)).toThrow(message);
    expect(() => parseArguments(args)).toThrow('--payments N');
  });
});
