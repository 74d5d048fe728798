/** Nest applications on a real cluster: failing by themselves, failing to start, two in one process. */
import { Controller } from '@nestjs/common';
import {
  Ctx,
  getStoreToken,
  getStreamsHealthToken,
  Payload,
  Store,
  type StreamContext,
  StreamHandler,
  type StreamsHealthIndicator,
  StreamsModule,
} from '@tally/nestjs';
import { type KeyValueStore, type QueryableStore, keyValueStore, silentLogger, string } from '@tally/streams';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { closeApplications, create, isReady, options, Outside, removeDirectories, topicsOf } from './nest-support.js';

let outside: Outside;

beforeAll(async () => {
  outside = await Outside.connect('nest-apps');
});

afterEach(closeApplications);

afterAll(async () => {
  await outside.close();
  removeDirectories();
});

describe('a worker that stops by itself', () => {
  it('closes its application, says why in one line, and leaves the record uncommitted', async () => {
    const { input, output } = topicsOf(outside, 'failing');
    await outside.createTopics(input, output);
    const cause = new Error('cannot go on');
    @Controller()
    class Failing {
      @StreamHandler(input) apply(@Payload() value: string | null, @Ctx() context: StreamContext<string>): void {
        context.send(output, context.key, value);
        if (value === 'poison') throw cause;
      }
    }
    const lines: string[] = [];
    const applicationId = `${outside.prefix}-failing`;
    const logger = { ...silentLogger, error: (line: string) => void lines.push(line) };
    const app = await create([StreamsModule.forRoot(options(applicationId, { logger }))], [Failing]);
    const closed = new Promise<void>((resolve) => {
      const close = app.close.bind(app);
      app.close = async () => {
        await close();
        resolve();
      };
    });
    await app.startAllMicroservices();
    await outside.write(input, [
      ['a', 'fine'],
      ['a', 'poison'],
      ['a', 'behind'],
    ]);
    await closed;
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('cannot go on');
    const health = app.get<StreamsHealthIndicator>(getStreamsHealthToken()).isLive('streams').streams;
    expect(health).toMatchObject({ status: 'down', phase: 'failed' });
    const [committed = 0] = await outside.committed(applicationId, input);
    expect(committed).toBeLessThanOrEqual(1);
    expect((await outside.read(output, committed)).filter((line) => line !== 'a=fine')).toEqual([]);
  });

  it('cannot start without its topic: the start rejects and names it', async () => {
    const { input } = topicsOf(outside, 'missing');
    @Controller()
    class Missing {
      @StreamHandler(input) apply(): void {}
    }
    const app = await create([StreamsModule.forRoot(options(`${outside.prefix}-missing`))], [Missing]);
    await expect(app.startAllMicroservices()).rejects.toMatchObject({ message: expect.stringContaining(input.name) as string });
  });
});

describe('two applications in one process', () => {
  const ledger = keyValueStore('ledger', { key: string(), value: string() });
  const audited = keyValueStore('audited', { key: string(), value: string() });

  it('process the same topic independently, and leave their groups when the process closes', async () => {
    const { input, output, audit } = topicsOf(outside, 'two');
    await outside.createTopics(input, output, audit);
    @Controller()
    class First {
      @StreamHandler(input, { stores: [ledger] })
      apply(
        @Payload() value: string | null,
        @Ctx() context: StreamContext<string>,
        @Store(ledger) store: KeyValueStore<string, string>,
      ): void {
        store.put(context.key, `first ${value}`);
        context.send(output, context.key, value);
      }
    }
    @Controller()
    class Second {
      @StreamHandler(input, { stores: [audited], application: 'audit' })
      note(
        @Payload() value: string | null,
        @Ctx() context: StreamContext<string>,
        @Store(audited) store: KeyValueStore<string, string>,
      ): void {
        store.put(context.key, `second ${value}`);
        context.send(audit, context.key, value);
      }
    }
    const ids = [`${outside.prefix}-first`, `${outside.prefix}-second`] as const;
    const app = await create(
      [
        StreamsModule.forRoot(options(ids[0])),
        StreamsModule.forRoot(options(ids[1], { name: 'audit' })),
        StreamsModule.forFeature([ledger]),
        StreamsModule.forFeature([audited], 'audit'),
      ],
      [First, Second],
      [undefined, 'audit'],
    );
    expect(isReady(app)).toBe(false);
    await app.startAllMicroservices();
    await outside.write(input, [
      ['a', '1', 0],
      ['b', '2', 1],
    ]);
    expect([...(await outside.read(output, 2))].sort()).toEqual(['a=1', 'b=2']);
    expect([...(await outside.read(audit, 2))].sort()).toEqual(['a=1', 'b=2']);
    await vi.waitFor(() => expect([isReady(app), isReady(app, 'audit')]).toEqual([true, true]), 20_000);
    const values = async (store: QueryableStore<string, string>): Promise<string[]> => {
      const found: string[] = [];
      for await (const [, value] of store.all()) found.push(value);
      return found.sort();
    };
    await vi.waitFor(async () => expect(await values(app.get(getStoreToken(ledger)))).toEqual(['first 1', 'first 2']), 10_000);
    await vi.waitFor(async () => expect(await values(app.get(getStoreToken(audited, 'audit')))).toEqual(['second 1', 'second 2']), 10_000);
    await app.close();
    expect(await Promise.all(ids.map((id) => outside.members(id)))).toEqual([0, 0]);
  });
});
