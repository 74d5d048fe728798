import { defineConfig } from 'vitest/config';

/** Few, because the broker and the services under test want the processors too. */
const maxWorkers = 2;

export default defineConfig({
  ssr: { resolve: { conditions: ['@tally/source', 'node'] } },
  test: {
    pool: 'forks',
    maxWorkers,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          // Property tests and models do a lot of work; the limit is there to end a test that hangs, on a machine that is busy too.
          testTimeout: 30_000,
          include: [
            'libs/**/*.spec.ts',
            'apps/**/*.spec.ts',
            'bench/**/*.spec.{ts,mjs}',
            'scripts/**/*.spec.mjs',
            'test/conformance/**/*.spec.ts',
          ],
          exclude: ['**/node_modules/**', '**/dist/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'broker',
          include: ['test/**/*.spec.ts'],
          exclude: ['test/conformance/**'],
          // Every suite talks to a real broker, restarts processes and waits for sessions to end.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          globalSetup: ['scripts/test/broker-for-tests.mjs'],
        },
      },
    ],
  },
});
