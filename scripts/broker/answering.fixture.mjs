// @ts-check
import { createServer } from 'node:net';

/**
 * A server that answers ApiVersions as a broker does, or something else.
 *
 * @param {number} port
 * @param {(request: Buffer) => Buffer} [answer]
 * @returns {Promise<() => void>} closes it
 */
export async function answerOn(port, answer = apiVersions) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (request) => socket.write(answer(Buffer.from(request))));
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
  return () => server.close();
}

/** @param {Buffer} request */
export function apiVersions(request) {
  const response = Buffer.alloc(14);
  response.writeInt32BE(10, 0);
  response.writeInt32BE(request.readInt32BE(8), 4);
  return response;
}
