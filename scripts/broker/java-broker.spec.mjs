// @ts-check
import { describe, expect, it } from 'vitest';
import { newClusterId } from './java-broker.mjs';

describe('the id of a new cluster', () => {
  it('is never taken for an option', () => {
    for (let count = 0; count < 1_000; count++) expect(newClusterId()).toMatch(/^[A-Za-z0-9][\w-]{21}$/);
  });
});
