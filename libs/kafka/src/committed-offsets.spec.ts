import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CommittedOffsets } from './committed-offsets.js';
import { resolveOptions } from './options.js';

type Callback = (error: unknown, found?: readonly object[]) => void;

const { asked, made, FakeClient } = vi.hoisted(() => {
  const pending: { readonly client: unknown; readonly callback: Callback }[] = [];
  const all: unknown[] = [];
  class Client {
    constructor() {
      all.push(this);
    }
    on(): void {}
    connect(_options: object, callback: () => void): void {
      callback();
    }
    isConnected(): boolean {
      return true;
    }
    disconnect(callback: () => void): void {
      callback();
    }
    committed(_partitions: object, _timeoutMs: number, callback: Callback): void {
      pending.push({ client: this, callback });
    }
  }
  return { asked: pending, made: all, FakeClient: Client };
});

vi.mock('./native.js', () => ({ loadNativeModule: () => ({ KafkaConsumer: FakeClient }) }));

const at = { topic: 't', partition: 0 };
const timedOut = { code: -185, message: 'Local: Timed out' };
let nowMs = 0;

beforeEach(() => {
  asked.length = made.length = nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => vi.restoreAllMocks());

describe('committed offsets', () => {
  const offsets = new CommittedOffsets(resolveOptions({ brokers: 'a:1' }));
  let group = 0;

  /** Asks so often at once; each request ends with the error after a second, or with an offset. */
  async function ask(times: number, error?: object): Promise<void> {
    const reading = Promise.allSettled(Array.from({ length: times }, () => offsets.read(`g${group}`, [at])));
    for (let turns = 0; asked.length < times && turns < 100; turns++) await new Promise(setImmediate);
    expect(asked).toHaveLength(times);
    nowMs += 1_000;
    for (const { callback } of asked.splice(0)) callback(error, [{ ...at, offset: 7 }]);
    await reading;
  }

  beforeEach(() => void group++);

  it('are asked of the same client while many requests at once have not ended, or not been answered', async () => {
    await ask(15);
    await ask(15, timedOut);
    await ask(1);
    expect(made).toHaveLength(1);
  });

  it('are asked of another client when one has not answered for half a minute, though it was asked again and again', async () => {
    for (let seconds = 0; seconds < 30; seconds++) await ask(1, timedOut);
    expect(made).toHaveLength(1);
    await ask(2);
    expect(made).toHaveLength(2);
  });

  it('are asked of the same client after a long time without questions', async () => {
    await ask(1, timedOut);
    nowMs += 600_000;
    await ask(1, timedOut);
    await ask(1);
    expect(made).toHaveLength(1);
  });

  it('are asked of the same client when it has brought an answer, a refusal among them', async () => {
    for (let seconds = 0; seconds < 90; seconds++) await ask(1, seconds % 20 === 19 ? { code: 30, message: 'Broker: refused' } : timedOut);
    expect(made).toHaveLength(1);
  });
});
