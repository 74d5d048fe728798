/** A handler that writes and sends, with one scripted enhancer beside it. */
import {
  type ArgumentsHost,
  Catch,
  type CallHandler,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  Injectable,
  type NestInterceptor,
  type PipeTransform,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { type KeyValueStore } from '@tally/streams';
import { EMPTY, type Observable } from 'rxjs';
import { Store, StreamHandler } from '../decorators/index.js';
import type { StreamContext } from '../interfaces/index.js';
import {
  audit,
  balances,
  bothWays,
  FakeScope,
  globalTokens,
  type Kind,
  type Outcome,
  outcomeOf,
  payments,
  recordContext,
  type Setup,
} from './fixtures.suite.js';

export const kinds = ['guard', 'pipe', 'interceptor', 'filter'] as const;
export const scopes = ['global', 'controller', 'method'] as const;
export const forms = ['class', 'instance'] as const;

export const use = { guard: UseGuards, pipe: UsePipes, interceptor: UseInterceptors, filter: UseFilters } as const;
export const useGlobally = {
  guard: 'useGlobalGuards',
  pipe: 'useGlobalPipes',
  interceptor: 'useGlobalInterceptors',
  filter: 'useGlobalFilters',
} as const;

export const failure = new Error('the handler failed');
export const refusal = new Error('refused by an enhancer');

/** What handlers and enhancers do in the test at hand. */
export const script = {
  enhancer: 'refuse' as 'refuse' | 'consume' | 'sendAndConsume' | 'skipNext' | 'sendAndSkipNext',
  handler: (() => 'done') as (context: StreamContext<string>, store: KeyValueStore<string, string>) => unknown,
};

export function contextOf(host: ArgumentsHost): StreamContext<string> {
  return host.switchToRpc().getContext<StreamContext<string>>();
}

@Catch()
@Injectable()
export class Scripted implements PipeTransform, NestInterceptor, ExceptionFilter {
  canActivate(context: ExecutionContext): boolean {
    contextOf(context).send(audit, 'guard', 'seen');
    return false;
  }

  transform(): never {
    throw refusal;
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (script.enhancer === 'refuse') throw refusal;
    if (script.enhancer === 'sendAndSkipNext') contextOf(context).send(audit, 'interceptor', 'skipped');
    return script.enhancer === 'skipNext' || script.enhancer === 'sendAndSkipNext' ? EMPTY : next.handle();
  }

  catch(_error: unknown, host: ArgumentsHost): unknown {
    if (script.enhancer === 'refuse') return undefined;
    if (script.enhancer === 'sendAndConsume') contextOf(host).send(audit, 'filter', 'consumed');
    return 'consumed';
  }
}

const started: INestApplication[] = [];

export async function closeStarted(): Promise<void> {
  for (const app of started.splice(0)) await app.close();
}

/** As `bothWays`, and closed by `closeStarted`. */
export async function open(prepared: Setup) {
  const both = await bothWays(prepared);
  started.push(both.app);
  return both;
}

/** `true` binds the class or instance at the controller or method, `undefined` leaves it out. */
export function controller(
  atController: ClassDecorator & MethodDecorator,
  atMethod: ClassDecorator & MethodDecorator,
): NonNullable<Setup['controllers']> {
  @atController
  @Controller()
  class Payments {
    @atMethod
    @StreamHandler(payments, { stores: [balances] })
    apply(
      @Payload() payload: string,
      @Ctx() context: StreamContext<string>,
      @Store(balances) store: KeyValueStore<string, string>,
    ): unknown {
      store.put(context.key, payload);
      context.send(audit, 'handler', payload);
      return script.handler(context, store);
    }
  }
  return [Payments];
}

export const nothing = UseGuards();

export function setup(kind: Kind, scope: (typeof scopes)[number], form: (typeof forms)[number]): Setup {
  const bind = (): ClassDecorator & MethodDecorator => use[kind]((form === 'class' ? Scripted : new Scripted()) as never);
  if (scope === 'controller') return { controllers: controller(bind(), nothing) };
  if (scope === 'method') return { controllers: controller(nothing, bind()) };
  const controllers = controller(nothing, nothing);
  if (form === 'class') return { controllers, providers: [{ provide: globalTokens[kind], useClass: Scripted }] };
  return { controllers, configure: (each) => void each[useGlobally[kind]](new Scripted() as never) };
}

export async function run(prepared: Setup, scope = new FakeScope()): Promise<{ readonly outcome: Outcome; readonly scope: FakeScope }> {
  const { compiled } = await open(prepared);
  return { outcome: await outcomeOf(() => compiled('pay', recordContext(scope))), scope };
}

export const cells = kinds.flatMap((kind) => scopes.flatMap((scope) => forms.map((form) => ({ kind, scope, form }))));
export const cellsOf = (...which: Kind[]) => cells.filter(({ kind }) => which.includes(kind));
