// @ts-check
/** Takes what is exported over OTLP, and counts it. Says its port first, and what it took when it is to end. */
import { createServer } from 'node:http';

/** @type {Map<string, number>} */
const taken = new Map();

const server = createServer((request, response) => {
  request.on('data', (chunk) => taken.set(request.url ?? '', (taken.get(request.url ?? '') ?? 0) + chunk.length));
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`port ${typeof address === 'object' ? address?.port : ''}\n`);
});
process.once('SIGTERM', () => {
  for (const [path, bytes] of taken) process.stdout.write(`${path} ${bytes}\n`);
  process.exit();
});
