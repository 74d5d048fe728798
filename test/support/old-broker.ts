/** A TCP proxy that makes a broker look older than Kafka 4.0: its answers list version 0 of the group heartbeat as the newest. */
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

/** In the list of supported requests: key 68, versions 0 to 1, no tagged fields. */
const listed = Buffer.from([0, 68, 0, 0, 0, 1, 0]);
const newestVersionAt = 5;

export interface OldBroker {
  readonly address: string;
  /** How many answers were made older. */
  readonly rewritten: number;
  close(): Promise<void>;
}

export async function startOldBroker(broker: string): Promise<OldBroker> {
  const [host = '', port = ''] = (broker.split(',')[0] ?? '').split(':');
  const sockets = new Set<Socket>();
  let rewritten = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), host);
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => socket.destroy()));
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      const at = chunk.indexOf(listed);
      if (at >= 0) {
        chunk[at + newestVersionAt] = 0;
        rewritten++;
      }
      client.write(chunk);
    });
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get rewritten() {
      return rewritten;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
