// @ts-check
import { createServer } from 'node:net';

/** Below the range from which systems take the local ports of outgoing connections, so that a port stays free while its broker is down. */
const [lowest, highest] = [20_000, 32_000];

/**
 * @param {number} count
 * @returns {Promise<number[]>} different ports that nobody listens on
 */
export async function freePorts(count) {
  const ports = new Set();
  for (let attempt = 0; ports.size < count; attempt++) {
    if (attempt > 1_000) throw new Error(`No free port was found between ${lowest} and ${highest}.`);
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
