import { describe, expect, it, vi } from 'vitest';
import { Lock } from './lock.js';
import { Rebalancer } from './rebalancer.js';

describe('a rebalance', () => {
  it('is answered although a hook throws', async () => {
    const broken = (): never => {
      throw new Error('a hook that throws');
    };
    const environment = { hooks: { assigned: broken, revoked: broken }, logger: { warn() {} }, options: {}, fail: vi.fn<() => void>() };
    const cycle = { open: { tasks: new Set() }, settled: async () => {}, settledOrHung: async () => {} };
    const tasks = {
      slotsOf: () => [],
      outgrown: [],
      halt() {},
      assign: vi.fn<() => Promise<void>>(async () => {}),
      unassign: vi.fn<() => Promise<void>>(async () => {}),
      close: async () => {},
    };
    const lock = new Lock();
    const parts = [environment, {}, lock, cycle, { run: async () => {} }, tasks] as unknown as ConstructorParameters<typeof Rebalancer>;
    const rebalancer = new Rebalancer(...parts);
    const at = [{ topic: 't', partition: 0 }];
    for (const event of ['assigned', 'revoked', 'lost'] as const) expect(() => rebalancer[event](at)).toThrow(/a hook that throws/);
    await lock.run(async () => {});
    expect(tasks.assign.mock.calls).toHaveLength(1);
    expect(tasks.unassign.mock.calls).toEqual([[at], [at]]);
    expect(environment.fail).not.toHaveBeenCalled();
  });
});
