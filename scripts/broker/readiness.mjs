// @ts-check
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * ApiVersions, version 0, which every broker answers:
 *
 *   request  = length:int32 apiKey:int16(18) apiVersion:int16(0) correlationId:int32 clientId:string
 *   string   = length:int16 bytes
 *   response = length:int32 correlationId:int32 errorCode:int16 ...
 */
function apiVersionsRequest() {
  const clientId = Buffer.from('tally-setup');
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + clientId.length);
  request.writeInt32BE(request.length - 4, 0);
  request.writeInt16BE(18, 4);
  request.writeInt16BE(0, 6);
  request.writeInt32BE(correlationId, 8);
  request.writeInt16BE(clientId.length, 12);
  clientId.copy(request, 14);
  return request;
}

const correlationId = 7;

/**
 * Asks one broker whether it serves requests. That its port is open says nothing: it is open long before, and a proxy's always is.
 *
 * @param {string} address `host:port`
 * @param {number} timeoutMs
 * @returns {Promise<boolean>}
 */
export function answers(address, timeoutMs = 2_000) {
  const separator = address.lastIndexOf(':');
  return new Promise((resolve) => {
    const socket = connect({ host: address.slice(0, separator).replace(/^\[(.*)\]$/, '$1'), port: Number(address.slice(separator + 1)) });
    let response = Buffer.alloc(0);
    /** @param {boolean} answer */
    const finish = (answer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => finish(false), timeoutMs);
    socket.on('connect', () => socket.write(apiVersionsRequest()));
    socket.on('data', (chunk) => {
      response = Buffer.concat([response, chunk]);
      if (response.length >= 10) finish(response.readInt32BE(4) === correlationId && response.readInt16BE(8) === 0);
    });
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
  });
}

/**
 * Waits until a broker answers.
 *
 * @param {string} address
 * @param {{timeoutMs: number, whyDead: () => string | undefined}} options `whyDead` says that waiting is in vain
 * @returns {Promise<string | undefined>} nothing when it answers, else why not
 */
export async function whyNotReady(address, { timeoutMs, whyDead }) {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    if (await answers(address)) return undefined;
    const dead = whyDead();
    if (dead !== undefined) return dead;
    await sleep(100);
  }
  return `it did not answer at ${address} within ${timeoutMs / 1000} s`;
}
