// @ts-check
import { describe, expect, it } from 'vitest';
import { answerOn, apiVersions } from './answering.fixture.mjs';
import { ensureBroker } from './ensure-broker.mjs';
import { freePorts } from './ports.mjs';
import { answers, whyNotReady } from './readiness.mjs';

describe('the readiness of a broker', () => {
  it('shows in its answer to a request', async () => {
    const [port = 0] = await freePorts(1);
    const close = await answerOn(port);
    expect(await answers(`127.0.0.1:${port}`)).toBe(true);
    close();
  });

  it('is not shown by an open port, another protocol or an error', async () => {
    for (const answer of [() => Buffer.alloc(0), () => Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), erroneous]) {
      const [port = 0] = await freePorts(1);
      const close = await answerOn(port, answer);
      expect(await answers(`127.0.0.1:${port}`, 200)).toBe(false);
      close();
    }
  });

  it('is not waited for when the broker has died', async () => {
    const [port = 0] = await freePorts(1);
    expect(await whyNotReady(`127.0.0.1:${port}`, { timeoutMs: 60_000, whyDead: () => 'it ended with code 1' })).toBe(
      'it ended with code 1',
    );
  });

  it('is asked of the brokers that the user names', async () => {
    const [port = 0, other = 0] = await freePorts(2);
    await expect(ensureBroker({ KAFKA_BROKERS: `127.0.0.1:${port}` })).rejects.toThrow(
      `No broker answers at 127.0.0.1:${port}, which KAFKA_BROKERS names.`,
    );
    const close = await answerOn(port);
    const { brokers, stop } = await ensureBroker({ KAFKA_BROKERS: `127.0.0.1:${other},127.0.0.1:${port}` });
    expect(brokers).toBe(`127.0.0.1:${other},127.0.0.1:${port}`);
    await stop();
    expect(await answers(`127.0.0.1:${port}`)).toBe(true);
    close();
  });
});

/** @param {Buffer} request */
function erroneous(request) {
  const response = apiVersions(request);
  response.writeInt16BE(35, 8);
  return response;
}
