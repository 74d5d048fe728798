// @ts-check
/**
 * What Node is told about memory where a worker is started. A record leaves some kilobytes of short-lived objects behind: with a young generation
 * of 64 MB instead of 16, fewer of them are still needed when they are collected, and so copied. Only the command line or NODE_OPTIONS can say it.
 */
const youngGeneration = '--max-semi-space-size=64';

/**
 * The value of NODE_OPTIONS for a worker: the user's own, which decides.
 * @param {NodeJS.ProcessEnv} [env]
 */
export function nodeOptions(env = process.env) {
  const own = env['NODE_OPTIONS'] ?? '';
  if (/--max[-_]semi[-_]space[-_]size\b/.test(own)) return own;
  return own === '' ? youngGeneration : `${own} ${youngGeneration}`;
}
