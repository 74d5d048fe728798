/**
 * Every call of the native client, and every batch of LevelDB, blocks a thread of libuv's pool: a consume, a commit, a restore's read, a
 * seek per partition, a flush per task. The default of four makes a commit wait for a consume that waits for records.
 *
 * libuv reads `UV_THREADPOOL_SIZE` when the pool is first used, and Node's module loader uses it before the first line of an ES module
 * runs. So it cannot be set from inside the program; whoever starts the process sets it.
 */
export const recommendedThreadPoolSize = 16;

/** A sentence for the log when the pool is too small, else undefined. */
export function threadPoolAdvice(environment: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  const size = Number(environment['UV_THREADPOOL_SIZE'] ?? 4);
  if (size >= recommendedThreadPoolSize) return undefined;
  return (
    `libuv's thread pool has ${size} threads, on which consume, commit, restore and LevelDB wait for one another. ` +
    `Start the process with UV_THREADPOOL_SIZE=${recommendedThreadPoolSize}.`
  );
}
