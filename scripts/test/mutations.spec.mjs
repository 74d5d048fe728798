// @ts-check
import { describe, expect, it } from 'vitest';
import { outcomeOfProof } from './mutations.mjs';

describe('the outcome of the mutation proof', () => {
  it('counts what was caught', () => {
    const output = 'caught (a) ...\n2 of 2 mutations caught, unbroken engine: 3 histories, 0 violations\n';
    expect(outcomeOfProof({ code: 0, output })).toEqual({ passed: 2, failed: 0, output: output.trim() });
  });

  it('counts what was missed, and what is found in the unbroken engine', () => {
    const output = 'MISSED (a) ...\n1 of 2 mutations caught, unbroken engine: 3 histories, 2 violations';
    expect(outcomeOfProof({ code: 1, output })).toEqual({ passed: 1, failed: 3, output });
  });

  it('has failed when it came to no end', () => {
    expect(outcomeOfProof({ code: 1, output: 'Mutation (a) does not fit' })).toEqual({
      passed: 0,
      failed: 1,
      output: 'Mutation (a) does not fit',
    });
  });
});
