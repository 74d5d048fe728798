import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { type ConsumedRecord, type Logger, silentLogger } from '@tally/streams';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FetchProcess } from './fetch-process.js';
import { encodeFrame, type FetchCommand } from './fetch-protocol.js';
import { resolveOptions } from './options.js';

const { children, next, FakeChild } = await vi.hoisted(async () => {
  const { EventEmitter: Emitter } = await import('node:events');
  const { PassThrough: Pipe } = await import('node:stream');
  class Child extends Emitter {
    readonly pipe = new Pipe();
    readonly told: FetchCommand[] = [];
    readonly stdio: (object | null)[] | undefined = [null, null, null, this.pipe, null];
    connected = true;
    send(command: FetchCommand): void {
      this.told.push(command);
    }
    disconnect(): void {
      this.connected = false;
      this.emit('exit', 0, null);
    }
    kill(): void {
      this.emit('exit', null, 'SIGKILL');
    }
  }
  return { children: [] as Child[], next: { failure: undefined as 'throws' | 'hasNoPipe' | undefined }, FakeChild: Child };
});

type Child = InstanceType<typeof FakeChild>;

vi.mock('node:child_process', () => ({
  fork: (): object => {
    const { failure } = next;
    next.failure = undefined;
    if (failure === 'throws') throw new Error('spawn ENOMEM');
    if (failure === 'hasNoPipe') {
      // Of a process that was never started, Node would kill process 0.
      const kill = (): never => expect.unreachable('it is killed');
      return Object.assign(new EventEmitter(), { kill });
    }
    const child = new FakeChild();
    children.push(child);
    return child;
  },
}));

beforeEach(() => {
  children.splice(0);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => vi.useRealTimers());

const at = (partition: number) => ({ topic: 't', partition });
const recordOf = (partition: number, offset: number, value: Buffer = Buffer.alloc(0)): ConsumedRecord => {
  return { ...at(partition), offset, timestampMs: 1, key: null, value, headers: [] };
};

function fetching() {
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const fetcher = new FetchProcess({ options: resolveOptions({ brokers: 'a:1', logger }), groupId: 'g', name: 'consumer of group g' });
  return { fetcher, warnings };
}

const lastChild = (): Child => children.at(-1) as Child;
const opened = (child: Child) => child.told.flatMap((command) => ('open' in command ? command.open : []));
/** The newest stream of the partition. */
const streamOf = (child: Child, partition: number): number =>
  opened(child).findLast((stream) => stream.partition === partition)?.stream ?? 0;

/** As the other process sends it. */
async function send(child: Child, stream: number, records: readonly ConsumedRecord[], ends: { stream: number; offset: number }[] = []) {
  const frame = encodeFrame(
    records,
    records.map(() => stream),
    ends,
  );
  child.pipe.write(frame);
  await new Promise((resolve) => setImmediate(resolve));
}

const offsetsOf = async (fetcher: FetchProcess): Promise<number[]> => {
  const taken = await fetcher.take(100, 0);
  return 'thrown' in taken ? [] : taken.records.map(({ offset }) => offset);
};

describe('a process that fetches, from the other side', () => {
  it('is told where to go on after it has ended, and nothing of before comes in between', async () => {
    const { fetcher, warnings } = fetching();
    fetcher.open([
      { ...at(0), offset: 5 },
      { ...at(1), offset: 9 },
    ]);
    const first = lastChild();
    expect(opened(first).map(({ partition, offset }) => [partition, offset])).toEqual([
      [0, 5],
      [1, 9],
    ]);
    const stream = streamOf(first, 0);
    await send(first, stream, [recordOf(0, 5), recordOf(0, 6)]);
    expect(await offsetsOf(fetcher)).toEqual([5, 6]);
    await send(first, stream, [recordOf(0, 7)], [{ stream: streamOf(first, 1), offset: 12 }]);
    // What has not been taken is fetched again.
    first.kill();
    first.emit('error', new Error('too late'));
    vi.advanceTimersByTime(1_000);
    expect(children).toHaveLength(2);
    expect(opened(lastChild()).map(({ partition, offset }) => [partition, offset])).toEqual([
      [0, 7],
      [1, 9],
    ]);
    await send(first, stream, [recordOf(0, 8)]);
    expect(await offsetsOf(fetcher)).toEqual([]);
    await send(lastChild(), stream, [recordOf(0, 8)]);
    await send(lastChild(), streamOf(lastChild(), 0), [recordOf(0, 7)]);
    expect(await offsetsOf(fetcher)).toEqual([7]);
    expect(warnings).toEqual([expect.stringMatching(/has ended \(SIGKILL\)\. Another one follows/)]);
    await fetcher.end();
  });

  it('brings nothing of a partition that was closed, or opened anew', async () => {
    const { fetcher } = fetching();
    fetcher.open([{ ...at(0), offset: 5 }]);
    const child = lastChild();
    const before = streamOf(child, 0);
    await send(child, before, [recordOf(0, 5), recordOf(0, 6)]);
    fetcher.open([{ ...at(0), offset: 3 }]);
    await send(child, before, [recordOf(0, 7)]);
    await send(child, streamOf(child, 0), [recordOf(0, 3)]);
    expect(await offsetsOf(fetcher)).toEqual([3]);
    fetcher.close([at(0)]);
    await send(child, streamOf(child, 0), [recordOf(0, 4)]);
    expect(await offsetsOf(fetcher)).toEqual([]);
    // However often a partition is named, it is read once.
    fetcher.open([
      { ...at(0), offset: 4 },
      { ...at(0), offset: 4 },
    ]);
    expect(child.told.at(-1)).toEqual({ open: [{ stream: streamOf(child, 0), ...at(0), offset: 4 }] });
    await fetcher.end();
    fetcher.open([{ ...at(1), offset: 0 }]);
    vi.advanceTimersByTime(5_000);
    expect(children).toHaveLength(1);
  });

  it.each(['throws', 'hasNoPipe'] as const)('is tried again when it cannot be started (%s)', async (failure) => {
    const { fetcher, warnings } = fetching();
    next.failure = failure;
    fetcher.open([{ ...at(0), offset: 5 }]);
    expect(children).toHaveLength(0);
    next.failure = failure;
    vi.advanceTimersByTime(600);
    expect(children).toHaveLength(0);
    fetcher.open([{ ...at(1), offset: 6 }]);
    vi.advanceTimersByTime(600);
    expect(opened(lastChild()).map(({ partition, offset }) => [partition, offset])).toEqual([
      [0, 5],
      [1, 6],
    ]);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/cannot be started \((spawn ENOMEM|there is no pipe)/);
    await fetcher.end();
  });

  it('is not listened to while too much waits', async () => {
    const { fetcher } = fetching();
    fetcher.open([{ ...at(0), offset: 0 }]);
    const { pipe } = lastChild();
    const stream = streamOf(lastChild(), 0);
    expect(pipe).toBeInstanceOf(PassThrough);
    await send(lastChild(), stream, [recordOf(0, 0, Buffer.alloc(600_000))]);
    expect(pipe.isPaused()).toBe(false);
    await send(lastChild(), stream, [recordOf(0, 1, Buffer.alloc(600_000))]);
    expect(pipe.isPaused()).toBe(true);
    expect(fetcher.queuedRecords).toBe(2);
    await send(lastChild(), stream, [recordOf(0, 2)]);
    expect(await offsetsOf(fetcher)).toEqual([0, 1]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(pipe.isPaused()).toBe(false);
    expect(await offsetsOf(fetcher)).toEqual([2]);
    await fetcher.end();
  });
});
