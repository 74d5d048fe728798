import { describe, expect, it } from 'vitest';
import { recommendedThreadPoolSize, threadPoolAdvice } from './thread-pool.js';

describe("libuv's thread pool", () => {
  it('is advised to be larger than its default', () => {
    expect(threadPoolAdvice({})).toContain(`UV_THREADPOOL_SIZE=${recommendedThreadPoolSize}`);
    expect(threadPoolAdvice({ UV_THREADPOOL_SIZE: '8' })).toContain('has 8 threads');
    expect(threadPoolAdvice({ UV_THREADPOOL_SIZE: String(recommendedThreadPoolSize) })).toBeUndefined();
  });
});
