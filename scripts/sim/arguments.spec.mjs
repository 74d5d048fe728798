import { describe, expect, it } from 'vitest';
import { parseArguments } from './arguments.mjs';

describe('arguments of the simulator', () => {
  it('default to 500 histories from the first seed on', () => {
    expect(parseArguments([])).toMatchObject({ start: 1, seeds: 500, trace: false, mutations: undefined, hunt: false });
  });

  it('choose the seeds', () => {
    expect(parseArguments(['--seeds', '20', '--start=7'])).toMatchObject({ start: 7, seeds: 20 });
    expect(parseArguments(['--seed', '9', '--trace'])).toMatchObject({ start: 9, seeds: 1, trace: true });
  });

  it('choose a schedule that was kept', () => {
    expect(parseArguments(['--plan', '.tally/simulation/seed-3.json', '--trace'])).toMatchObject({
      plan: '.tally/simulation/seed-3.json',
      trace: true,
    });
    expect(() => parseArguments(['--plan'])).toThrow('--plan needs a value');
  });

  it('choose the mutations, all where none is named', () => {
    expect(parseArguments(['--mutations']).mutations).toEqual([]);
    expect(parseArguments(['--mutations', 'a,k', '--seeds', '5'])).toMatchObject({ mutations: ['a', 'k'], seeds: 5 });
    expect(parseArguments(['--mutations=c'])).toMatchObject({ mutations: ['c'] });
    expect(parseArguments(['--mutations', '--hunt'])).toMatchObject({ mutations: [], hunt: true });
  });

  it.each([
    [['--seeds', 'many'], "--seeds needs a whole number; it has 'many'"],
    [['--seeds'], "--seeds needs a whole number; it has ''"],
    [['--sedes'], "'--sedes' is not known"],
  ])('are refused with the usage: %j', (words, message) => {
    expect(() => parseArguments(words)).toThrow(message);
    expect(() => parseArguments(words)).toThrow('Usage: npm run sim');
  });
});
