/** The contract with Nest: for every kind, scope and form of enhancer, order and result are those of Nest's own proxy. */
import { Controller, type INestApplication, UseFilters, UseGuards, UseInterceptors, UsePipes } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { afterEach, describe, expect, it } from 'vitest';
import { StreamHandler } from '../decorators/index.js';
import type { StreamContext } from '../interfaces/index.js';
import {
  bothWays,
  FakeScope,
  globalTokens,
  type Kind,
  payments,
  probe,
  probeClass,
  type ProbeClass,
  recordContext,
  type Setup,
} from './fixtures.suite.js';

const kinds = ['guard', 'pipe', 'interceptor', 'filter'] as const;
const scopes = ['global', 'controller', 'method'] as const;
const forms = ['class', 'instance'] as const;
type Scope = (typeof scopes)[number];
type Form = (typeof forms)[number];

const behaviours: Readonly<Record<Kind, readonly string[]>> = {
  guard: ['pass', 'promise', 'observable', 'deny', 'throw'],
  pipe: ['pass', 'promise', 'throw'],
  interceptor: ['pass', 'promise', 'skipNext', 'throw'],
  filter: ['value', 'observable', 'promise', 'throw', 'nothing'],
};

const use = { guard: UseGuards, pipe: UsePipes, interceptor: UseInterceptors, filter: UseFilters } as const;
const useGlobally = {
  guard: 'useGlobalGuards',
  pipe: 'useGlobalPipes',
  interceptor: 'useGlobalInterceptors',
  filter: 'useGlobalFilters',
} as const;

let app: INestApplication | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

/** A controller with enhancers of every kind in every scope; the one under test is bound beside them. */
function setup(kind: Kind, scope: Scope, form: Form, isFailing: boolean, hasInterceptors = true): Setup {
  const tested = probeClass('tested', true);
  const bound = form === 'class' ? tested : new tested();
  const others = (where: string): ProbeClass[] => kinds.filter((each) => each !== 'filter').map((each) => probeClass(`${where}-${each}`));
  const [controllerGuard, controllerPipe, controllerInterceptor] = others('controller') as [ProbeClass, ProbeClass, ProbeClass];
  const [methodGuard, methodPipe, methodInterceptor] = others('method') as [ProbeClass, ProbeClass, ProbeClass];
  const atController = scope === 'controller' ? use[kind](bound as never) : UseGuards();
  const atMethod = scope === 'method' ? use[kind](bound as never) : UseGuards();

  @atController
  @UseGuards(controllerGuard)
  @UsePipes(controllerPipe)
  @UseInterceptors(...(hasInterceptors ? [controllerInterceptor] : []))
  @Controller()
  class Payments {
    @atMethod
    @UseGuards(methodGuard)
    @UsePipes(methodPipe)
    @UseInterceptors(...(hasInterceptors ? [methodInterceptor] : []))
    @StreamHandler(payments)
    apply(@Payload() payload: string, @Ctx() context: StreamContext<string>): string {
      probe.log.push(`handler ${payload} ${context.key}`);
      if (isFailing) throw probe.error;
      return `handled ${payload}`;
    }
  }

  if (scope !== 'global') return { controllers: [Payments] };
  if (form === 'class') return { controllers: [Payments], providers: [{ provide: globalTokens[kind], useClass: tested }] };
  return { controllers: [Payments], configure: (each) => void each[useGlobally[kind]](bound as never) };
}

async function compare(prepared: Setup, behaviour: string): Promise<{ readonly log: readonly string[]; readonly outcome: unknown }> {
  const { app: own, reference, compiled } = await bothWays(prepared);
  app = own;
  probe.behaviour = behaviour;
  probe.log = [];
  const expected = await reference.call('pay', recordContext(new FakeScope()));
  const expectedLog = probe.log;
  probe.log = [];
  const actual = await outcome(() => compiled('pay', recordContext(new FakeScope())));
  // With several parameters Nest goes on with the pipes of the others after one has failed; here nothing runs for a record that failed.
  const goesOn = expectedLog.slice(probe.log.length);
  expect(goesOn.every((line) => behaviour === 'throw' && line.startsWith('pipe '))).toBe(true);
  expect(probe.log).toEqual(expectedLog.slice(0, expectedLog.length - goesOn.length));
  expect(actual.kind).toBe(expected.kind);
  if (expected.kind === 'returned') expect(actual).toEqual(expected);
  return { log: expectedLog, outcome: actual };
}

async function outcome(run: () => unknown) {
  try {
    return { kind: 'returned', value: await run() } as const;
  } catch (error) {
    return { kind: 'failed', error } as const;
  }
}

const cells = kinds.flatMap((kind) =>
  scopes.flatMap((scope) => forms.flatMap((form) => behaviours[kind].map((behaviour) => ({ kind, scope, form, behaviour })))),
);

describe('a compiled handler runs its enhancers as Nest does', () => {
  it.each(cells)('$kind at $scope as $form: $behaviour', async ({ kind, scope, form, behaviour }) => {
    // Behind an interceptor Nest takes a filter's plain value for a stream (a text for one of letters); here it is a value everywhere.
    const { log } = await compare(setup(kind, scope, form, kind === 'filter', behaviour !== 'value'), behaviour);
    expect(log.some((line) => line.startsWith(`${kind} tested`))).toBe(true);
  });

  it('compares something: the order has all kinds in it', async () => {
    const { log, outcome: result } = await compare(setup('guard', 'global', 'class', false), 'pass');
    expect(log.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      'guard tested',
      'guard controller-guard',
      'guard method-guard',
      'interceptor controller-interceptor',
      'interceptor method-interceptor',
      'pipe controller-pipe',
      'pipe controller-pipe',
      'pipe method-pipe',
      'pipe method-pipe',
      'handler pay+controller-pipe+method-pipe',
      'interceptor method-interceptor',
      'interceptor controller-interceptor',
    ]);
    expect(result).toEqual({
      kind: 'returned',
      value: 'handled pay+controller-pipe+method-pipe<method-interceptor<controller-interceptor',
    });
  });
});

describe('errors', () => {
  it.each(kinds)('a %s that throws hands on the same instance, where Nest replaces it', async (kind) => {
    const { outcome: result } = await compare(setup(kind, 'method', 'class', kind === 'filter'), 'throw');
    expect((result as { error: unknown }).error).toBe(probe.error);
  });

  it('a handler that throws hands on the same instance', async () => {
    const { outcome: result } = await compare(setup('guard', 'method', 'class', true), 'pass');
    expect((result as { error: unknown }).error).toBe(probe.error);
  });
});
