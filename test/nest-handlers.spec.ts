/** Nest handlers on a real cluster: what becomes of a record's state and outputs. */
import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type PipeTransform,
  UseFilters,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Ctx, getStoreToken, Payload, Store, type StreamContext, StreamHandler, StreamsModule } from '@tally/nestjs';
import { type KeyValueStore, type QueryableStore, keyValueStore, string } from '@tally/streams';
import { EMPTY, type Observable, timeout } from 'rxjs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { closeApplications, create, options, Outside, partitions, removeDirectories, topicsOf } from './nest-support.js';

let outside: Outside;

beforeAll(async () => {
  outside = await Outside.connect('nest');
});

afterEach(closeApplications);

afterAll(async () => {
  await outside.close();
  removeDirectories();
});

describe('what becomes of a record', () => {
  const balances = keyValueStore('balances', { key: string(), value: string() });
  const pipeError = new Error('refused by a pipe');
  const handlerError = new Error('thrown by the handler');
  class Expected extends Error {}

  it('is what the outcome table says, on real state', async () => {
    const { input, output, audit, letters } = topicsOf(outside, 'outcomes');
    await outside.createTopics(input, output, audit, letters);

    @Injectable()
    class GlobalGuard {
      canActivate(context: ExecutionContext): boolean {
        return context.switchToRpc().getContext<StreamContext<string>>().key !== 'guarded';
      }
    }
    class RefusingPipe implements PipeTransform {
      transform(value: unknown): unknown {
        if (value === 'piped') throw pipeError;
        return value;
      }
    }
    @Injectable()
    class Interceptor implements NestInterceptor {
      intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
        const record = context.switchToRpc().getContext<StreamContext<string>>();
        if (record.key === 'skipped') {
          record.send(audit, record.key, 'by the interceptor');
          return EMPTY;
        }
        return next.handle().pipe(timeout({ first: 2_000 }));
      }
    }
    @Catch(Expected)
    class ConsumingFilter implements ExceptionFilter {
      catch(_error: Expected, host: ArgumentsHost): string {
        const record = host.switchToRpc().getContext<StreamContext<string>>();
        record.send(audit, record.key, 'by the filter');
        return 'consumed';
      }
    }
    @UsePipes(new RefusingPipe())
    @Controller()
    class Outcomes {
      @UseInterceptors(Interceptor)
      @UseFilters(ConsumingFilter)
      @StreamHandler(input, { stores: [balances] })
      apply(
        @Payload() value: string | null,
        @Ctx() context: StreamContext<string>,
        @Store(balances) store: KeyValueStore<string, string>,
      ): unknown {
        if (value === null) return store.delete('removed');
        store.put(context.key === 'removed' ? 'removed' : context.key, value);
        context.send(output, context.key, value);
        if (value === 'filtered') throw new Expected();
        if (value === 'thrown') throw handlerError;
        if (value === 'hanging') return new Promise(() => undefined);
        return value === 'later' ? Promise.resolve() : undefined;
      }
    }

    const seen = new Map<Error, boolean>();
    const applicationId = `${outside.prefix}-outcomes`;
    const errors = {
      processing: (error: Error) => {
        seen.set(error, true);
        return { action: 'deadLetter', topic: letters } as const;
      },
    };
    const app = await create(
      [StreamsModule.forRoot(options(applicationId, { errors })), StreamsModule.forFeature([balances])],
      [Outcomes],
      [undefined],
      [{ provide: APP_GUARD, useClass: GlobalGuard }],
    );
    await app.startAllMicroservices();

    const keys = ['kept', 'guarded', 'piped', 'thrown', 'hanging', 'filtered', 'skipped', 'later', 'removed'];
    await outside.write(input, [
      ...keys.map((key, index) => [key, key, index % partitions] as const),
      ['removed', null, (keys.length - 1) % partitions],
      ['last', 'last', 0],
      ['last', 'last', 1],
    ]);

    expect([...(await outside.read(output, 5))].sort()).toEqual(['kept=kept', 'last=last', 'last=last', 'later=later', 'removed=removed']);
    expect([...(await outside.read(letters, 4))].sort()).toEqual(['guarded=guarded', 'hanging=hanging', 'piped=piped', 'thrown=thrown']);
    expect([...(await outside.read(audit, 2))].sort()).toEqual(['filtered=by the filter', 'skipped=by the interceptor']);

    const store = app.get<QueryableStore<string, string>>(getStoreToken(balances));
    const state: string[] = [];
    for await (const [key] of store.all()) state.push(key);
    expect([...new Set(state)].sort()).toEqual(['kept', 'last', 'later']);
    expect([...seen.keys()].map((error) => error.message).sort()).toEqual(
      ['Forbidden resource', 'Timeout has occurred', pipeError.message, handlerError.message].sort(),
    );
    expect(seen.has(pipeError)).toBe(true);
    expect(seen.has(handlerError)).toBe(true);
    await vi.waitFor(
      async () =>
        expect((await outside.committed(applicationId, input)).reduce((sum: number, offset) => sum + (offset ?? 0), 0)).toBe(
          keys.length + 3,
        ),
      10_000,
    );
  });
});

describe('several handlers of one topic', () => {
  const shared = keyValueStore('shared', { key: string(), value: string() });

  it('share the record, but a filter rolls back only what its own handler did', async () => {
    const { input, output, audit } = topicsOf(outside, 'several');
    await outside.createTopics(input, output, audit);
    const note = (context: StreamContext<string>, store: KeyValueStore<string, string>, who: string): void => {
      store.put(context.key, `${store.get(context.key) ?? ''}${who}`);
      store.put(`${context.key}/${who}`, who);
      context.send(output, context.key, who);
    };
    const failing: ExceptionFilter = {
      catch(_error: Error, host: ArgumentsHost): string {
        const record = host.switchToRpc().getContext<StreamContext<string>>();
        record.send(audit, record.key, 'by the filter');
        return 'consumed';
      },
    };
    @Controller()
    class Several {
      @StreamHandler(input, { stores: [shared] })
      first(
        @Payload() _value: string | null,
        @Ctx() context: StreamContext<string>,
        @Store(shared) store: KeyValueStore<string, string>,
      ): void {
        note(context, store, 'first');
      }

      @UseFilters(failing)
      @StreamHandler(input, { stores: [shared] })
      async second(
        @Payload() value: string | null,
        @Ctx() context: StreamContext<string>,
        @Store(shared) store: KeyValueStore<string, string>,
      ): Promise<void> {
        note(context, store, 'second');
        await Promise.resolve();
        if (value === 'fails') throw new Error('of the second');
      }

      @StreamHandler(input, { stores: [shared] })
      third(
        @Payload() _value: string | null,
        @Ctx() context: StreamContext<string>,
        @Store(shared) store: KeyValueStore<string, string>,
      ): void {
        if (context.key === 'overwritten') store.put(context.key, 'third');
      }
    }
    const app = await create([StreamsModule.forRoot(options(`${outside.prefix}-several`)), StreamsModule.forFeature([shared])], [Several]);
    await app.startAllMicroservices();
    await outside.write(input, [
      ['fine', 'fine'],
      ['failing', 'fails'],
      ['overwritten', 'fails'],
    ]);
    expect([...(await outside.read(output, 4))].sort()).toEqual(['failing=first', 'fine=first', 'fine=second', 'overwritten=first']);
    expect([...(await outside.read(audit, 2))].sort()).toEqual(['failing=by the filter', 'overwritten=by the filter']);
    const state: Record<string, string> = {};
    await vi.waitFor(async () => {
      for await (const [key, value] of app.get<QueryableStore<string, string>>(getStoreToken(shared)).all()) state[key] = value;
      expect(Object.keys(state)).toHaveLength(7);
    }, 10_000);
    expect(state).toEqual({
      fine: 'firstsecond',
      'fine/first': 'first',
      'fine/second': 'second',
      failing: 'first',
      'failing/first': 'first',
      overwritten: 'third',
      'overwritten/first': 'first',
    });
  });
});
