// @ts-check
import { describe, expect, it } from 'vitest';
import { nodeOptions } from './node-options.mjs';

describe('options of Node for a worker', () => {
  it('have a larger young generation', () => expect(nodeOptions({})).toBe('--max-semi-space-size=64'));

  it("keep the user's own", () =>
    expect(nodeOptions({ NODE_OPTIONS: '--trace-warnings' })).toBe('--trace-warnings --max-semi-space-size=64'));

  it.each(['--max-semi-space-size=8', '--max_semi_space_size 8'])('leave the decision to who has taken it (%s)', (own) =>
    expect(nodeOptions({ NODE_OPTIONS: own })).toBe(own),
  );
});
