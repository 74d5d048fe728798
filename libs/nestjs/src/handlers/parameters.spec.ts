/** Parameters of every form, hooks and asynchronous context: again as Nest's own proxy does it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type ArgumentMetadata,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  type INestApplication,
  Injectable,
  ParseIntPipe,
  type PipeTransform,
  SetMetadata,
  StandardSchemaValidationPipe,
  type Type,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { ApplicationConfig, Reflector } from '@nestjs/core';
import { Ctx, Payload } from '@nestjs/microservices';
import { lastValueFrom, type Observable, of, tap } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { StreamHandler } from '../decorators/index.js';
import { bothWays, FakeScope, type Outcome, outcomeOf, payments, probe, recordContext, type Setup } from './fixtures.suite.js';

/** Nest lets a handler have any parameters in any order; the typed form of the decorator asks for the usual ones. */
const Handler = (): MethodDecorator => StreamHandler(payments) as MethodDecorator;
const Record_ = z.object({ id: z.string().min(2), amount: z.number() });

let app: INestApplication | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function compare(setup: Setup, payload: unknown) {
  const both = await bothWays(setup);
  app = both.app;
  const results: { readonly result: Outcome; readonly log: readonly string[] }[] = [];
  for (const call of [
    () => both.reference.call(payload, recordContext(new FakeScope())),
    () => outcomeOf(() => both.compiled(payload, recordContext(new FakeScope()))),
  ]) {
    probe.log = [];
    results.push({ result: await call(), log: probe.log });
  }
  const [expected, actual] = results;
  expect(actual).toEqual(expected);
  return actual;
}

function valueOf(compared: Awaited<ReturnType<typeof compare>>): unknown {
  return compared?.result.kind === 'returned' ? compared.result.value : compared;
}

class LabelPipe implements PipeTransform {
  constructor(
    private readonly label: string,
    private readonly isAsynchronous = false,
  ) {}
  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    probe.log.push(`${this.label} ${metadata.type} ${String(metadata.data)} ${(metadata.metatype as Type<unknown> | undefined)?.name}`);
    return this.isAsynchronous ? Promise.resolve(value) : value;
  }
}

const Offset = createParamDecorator(
  (_data: unknown, context: ExecutionContext): number => context.switchToRpc().getContext<{ offset: number }>().offset,
);
const Later = createParamDecorator((data: string) => Promise.resolve(`later ${data}`));

describe('parameters', () => {
  it('without decorators: the payload comes first', async () => {
    @Controller()
    class Plain {
      @Handler() apply(...all: unknown[]): unknown {
        return [all.length, all[0]];
      }
    }
    expect((await compare({ controllers: [Plain] }, 'pay'))?.result).toEqual({ kind: 'returned', value: [1, 'pay'] });
  });

  it.each([false, true])('of every form, with pipes of their own (asynchronous: %s)', async (isAsynchronous) => {
    @Controller()
    class Forms {
      @UsePipes(new LabelPipe('method', isAsynchronous))
      @Handler()
      apply(
        @Payload('amount', ParseIntPipe) amount: number,
        @Later('value', new LabelPipe('own')) later: string,
        unused: unknown,
        @Offset() offset: number,
        @Payload(new LabelPipe('first'), new LabelPipe('second', isAsynchronous)) whole: object,
        @Ctx() context: { key: string },
      ): unknown {
        return { amount, later, unused, offset, whole, key: context.key };
      }
    }
    const compared = await compare({ controllers: [Forms] }, { amount: '42' });
    expect(valueOf(compared)).toEqual({
      amount: 42,
      later: 'later value',
      unused: undefined,
      offset: 7,
      whole: { amount: '42' },
      key: 'alice',
    });
    expect(compared?.log.length).toBeGreaterThan(6);
  });

  it("with a Standard Schema and Nest's pipe for it", async () => {
    @Controller()
    class Checked {
      @UsePipes(new StandardSchemaValidationPipe())
      @Handler()
      apply(@Payload({ schema: Record_ }) payment: unknown): unknown {
        return payment;
      }
    }
    const payment = { id: 'p1', amount: 3 };
    expect(valueOf(await compare({ controllers: [Checked] }, payment))).toEqual(payment);
    const { compiled } = await bothWays({ controllers: [Checked] });
    await expect(compiled({ id: 'p', amount: 3 }, recordContext(new FakeScope()))).rejects.toThrow('Bad Request');
  });

  it('a tombstone is a null payload', async () => {
    @Controller()
    class Tombstones {
      @Handler() apply(@Payload() payload: unknown, @Payload('field') field: unknown): unknown {
        return [payload, field];
      }
    }
    expect(valueOf(await compare({ controllers: [Tombstones] }, null))).toEqual([null, undefined]);
  });
});

describe('around the handler', () => {
  it('the Reflector and the classes of the execution context work', async () => {
    @Injectable()
    class RolesGuard {
      constructor(private readonly reflector: Reflector) {}
      canActivate(context: ExecutionContext): boolean {
        probe.log.push(JSON.stringify(this.reflector.getAllAndMerge<string[]>('roles', [context.getHandler(), context.getClass()])));
        probe.log.push(`${context.getClass().name} ${context.getArgs().length} ${String(context.switchToRpc().getData())}`);
        return true;
      }
    }
    @UseGuards(RolesGuard)
    @SetMetadata('roles', ['class'])
    @Controller()
    class Guarded {
      @SetMetadata('roles', ['method']) @Handler() apply(): string {
        return 'done';
      }
    }
    expect((await compare({ controllers: [Guarded] }, 'pay'))?.log).toEqual(['["method","class"]', 'Guarded 2 pay']);
  });

  it('what a guard attaches to the context reaches the handler, also through interceptors', async () => {
    @UseGuards({
      canActivate: (context: ExecutionContext) => Boolean(Object.assign(context.switchToRpc().getContext<object>(), { user: 'alice' })),
    })
    @UseInterceptors({
      intercept: (context, next) =>
        next.handle().pipe(tap(() => probe.log.push(String(context.switchToRpc().getContext<{ answer?: string }>().answer)))),
    })
    @Controller()
    class Attached {
      @Handler() apply(@Payload() _payload: unknown, @Ctx() context: { user?: string; answer?: string }): unknown {
        context.answer = 'from the handler';
        return context.user;
      }
    }
    const compared = await compare({ controllers: [Attached] }, 'pay');
    expect(valueOf(compared)).toBe('alice');
    expect(compared?.log).toEqual(['from the handler']);
  });

  it('pre-request hooks run before guards', async () => {
    @UseGuards({ canActivate: () => Boolean(probe.log.push('guard')) })
    @Controller()
    class Hooked {
      @Handler() apply(): string {
        probe.log.push('handler');
        return 'done';
      }
    }
    const hook = (label: string) => (_context: ExecutionContext, next: () => Observable<unknown>) => {
      probe.log.push(`hook ${label}`);
      return next().pipe(tap(() => probe.log.push(`hook ${label} after`)));
    };
    const compared = await compare(
      {
        controllers: [Hooked],
        configure: (each) => each.get(ApplicationConfig).registerPreRequestHook(hook('a'), hook('b')),
      },
      'pay',
    );
    expect(compared?.log).toEqual(['hook a', 'hook b', 'guard', 'handler', 'hook b after', 'hook a after']);
  });

  it.each(['run around handle()', 'run around subscribe'])(
    'asynchronous context set by an interceptor reaches the handler: %s',
    async (way) => {
      const storage = new AsyncLocalStorage<string>();
      @UseInterceptors({
        intercept: (_context, next) =>
          way === 'run around handle()'
            ? storage.run('traced', () => next.handle())
            : storage.run('traced', () => of(lastValueFrom(next.handle()))).pipe(),
      })
      @Controller()
      class Traced {
        @Handler() apply(): string | undefined {
          return storage.getStore();
        }
      }
      const { app: own, compiled, reference } = await bothWays({ controllers: [Traced] });
      app = own;
      const expected = (await reference.call('pay', recordContext(new FakeScope()))) as { value: unknown };
      expect(await compiled('pay', recordContext(new FakeScope()))).toBe(await expected.value);
      expect(await expected.value).toBe('traced');
    },
  );

  it("a handler's observable is subscribed to once, its last value counts", async () => {
    @Controller()
    class Streams {
      @Handler() apply(): Observable<number> {
        probe.log.push('called');
        return of(1, 2, 3).pipe(tap((value) => probe.log.push(`value ${value}`)));
      }
    }
    expect(await compare({ controllers: [Streams] }, 'pay')).toEqual({
      result: { kind: 'returned', value: 3 },
      log: ['called', 'value 1', 'value 2', 'value 3'],
    });
  });
});
