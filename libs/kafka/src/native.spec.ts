import type * as WorkerThreads from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';

vi.mock('node:worker_threads', async (original) => ({ ...(await original<typeof WorkerThreads>()), isMainThread: false }));

describe('the native module', () => {
  it('is refused in a worker thread with a clear error', async () => {
    const { createKafkaBroker } = await import('./index.js');
    expect(() => createKafkaBroker({ brokers: 'a:1' })).toThrow(expect.objectContaining({ code: 'WORKER_THREAD', kind: 'invalid' }));
  });
});
