// @ts-check
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePorts } from '../broker/ports.mjs';
import { reachable } from './prebuilt.mjs';

describe('the download of a prebuilt client', () => {
  it('is tried where its host answers', async () => {
    const server = createServer((socket) => socket.end());
    const [port = 0] = await freePorts(1);
    await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
    expect(await reachable('127.0.0.1', port)).toBe(true);
    server.close();
  });

  it('is given up at once where nobody answers', async () => {
    const [port = 0] = await freePorts(1);
    expect(await reachable('127.0.0.1', port)).toBe(false);
    expect(await reachable('host.invalid', 443)).toBe(false);
  });
});
