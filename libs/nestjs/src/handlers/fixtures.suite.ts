/** Fixtures of this package's tests: a scope in memory, and applications around one controller. */
import {
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  Injectable,
  type ModuleMetadata,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import {
  type KeyValueStore,
  type KeyValueStoreDefinition,
  type ProcessorContext,
  RecordClosedError,
  type Serde,
  type StreamRecord,
  type Topic,
} from '@tally/streams';
import { isObservable, lastValueFrom, map, type Observable, of, tap } from 'rxjs';
import { StreamsExplorer } from '../streams.explorer.js';
import { transportId } from '../streams.constants.js';
import type { CompiledHandler } from './compiled-handler.js';
import { HandlerCompiler } from './handler-compiler.js';
import { RecordContext } from './record-context.js';

const text: Serde<string> = {
  name: 'string',
  serialize: (value) => new TextEncoder().encode(value),
  deserialize: (bytes) => new TextDecoder().decode(bytes),
};

export const payments: Topic<string, string> = { name: 'payments', key: text, value: text };
export const audit: Topic<string, string> = { name: 'audit', key: text, value: text };
export const balances: KeyValueStoreDefinition<string, string> = {
  kind: 'keyValue',
  name: 'balances',
  version: 0,
  changelog: true,
  key: text,
  value: text,
};

/** The runtime's scope as far as handlers see it: what was written and sent, and whether it still takes calls. */
export class FakeScope implements ProcessorContext {
  readonly taskId = 'payments/0';
  readonly record = {
    topic: 'payments',
    partition: 0,
    offset: 7,
    timestampMs: 1_000,
    headers: [],
    attempt: 1,
    idempotencyKey: 'payments-0-7',
  };
  readonly streamTimeMs = 1_000;
  readonly nowMs = 2_000;
  readonly controller = new AbortController();
  readonly state = new Map<unknown, unknown>();
  readonly sent: string[] = [];
  rollbacks = 0;
  isClosed = false;

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  forward(): void {
    throw new Error('A handler has no children.');
  }

  send<K, V>(topic: Topic<K, V>, key: NoInfer<K>, value: NoInfer<V>): void {
    this.check();
    this.sent.push(`${topic.name} ${String(key)} ${String(value)}`);
  }

  rollback(): void {
    this.check();
    this.rollbacks += 1;
    this.state.clear();
    this.sent.length = 0;
  }

  advanceTime(): number {
    throw new Error('A handler keeps no time.');
  }

  drop(): void {
    throw new Error('A handler drops nothing.');
  }

  store<S>(): S {
    return this.keyValueStore() as S;
  }

  private keyValueStore<K, V>(): KeyValueStore<K, V> {
    this.check();
    const { state } = this;
    const unsupported = (): never => {
      throw new Error('Not part of the fixture.');
    };
    return {
      get: (key) => state.get(key) as V | undefined,
      put: (key, value) => {
        this.check();
        state.set(key, value);
      },
      delete: (key) => void state.delete(key),
      getWithTimestamp: unsupported,
      putWithTimestamp: unsupported,
      range: unsupported,
      all: unsupported,
    };
  }

  private check(): void {
    if (this.isClosed) throw new RecordClosedError(this.record, 'closed by the test');
  }
}

export function recordContext(scope: FakeScope, key = 'alice'): RecordContext<string> {
  const record: StreamRecord<string, unknown> = { key, value: 'ignored', timestampMs: 1_000, headers: [] };
  return new RecordContext(record, scope);
}

export type Outcome = { readonly kind: 'returned'; readonly value: unknown } | { readonly kind: 'failed'; readonly error: unknown };

export async function outcomeOf(run: () => unknown): Promise<Outcome> {
  try {
    const result = await run();
    return { kind: 'returned', value: isObservable(result) ? await lastValueFrom(result, { defaultValue: undefined }) : result };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** Nest's own way: a transport that hands out the proxies that it is given. */
export class ReferenceTransport extends Server implements CustomTransportStrategy {
  override readonly transportId = transportId('default');
  override readonly propagatesEventHandlerErrors = true;

  listen(callback: () => void): void {
    callback();
  }
  close(): void {}
  on(): void {}
  unwrap<T>(): T {
    return undefined as T;
  }

  call(payload: unknown, context: RecordContext): Promise<Outcome> {
    const [proxy] = [...this.messageHandlers.values()];
    return outcomeOf(() => proxy?.(payload, context));
  }
}

export interface Setup extends ModuleMetadata {
  readonly configure?: (app: INestApplication) => void;
}

/** One application whose only handler is run by Nest's proxy and by ours. */
export async function bothWays(setup: Setup): Promise<{ app: INestApplication; reference: ReferenceTransport; compiled: CompiledHandler }> {
  const { configure, ...metadata } = setup;
  const module = await Test.createTestingModule(metadata).compile();
  const app = module.createNestApplication({ logger: false });
  configure?.(app);
  const reference = new ReferenceTransport();
  app.connectMicroservice({ strategy: reference }, { inheritAppConfig: true });
  await app.init();
  return { app, reference, compiled: compileOnly(app) };
}

export function compileOnly(app: INestApplication): CompiledHandler {
  const modules = app.get(ModulesContainer);
  const [handler] = new StreamsExplorer(modules).handlers();
  if (handler === undefined) throw new Error('The fixture has no handler.');
  return new HandlerCompiler(modules, app.get(ApplicationConfig)).compile(handler);
}

// ---- enhancers that write down their running -------------------------------------------------------------------------------------

/** Where enhancers write what they do, and how they behave. Shared, for enhancers in class form are made by Nest. */
export const probe = {
  log: [] as string[],
  /** What the enhancer under test does: by the name of its behaviour. */
  behaviour: 'pass',
  error: new Error('from the test'),
};

export type Kind = 'guard' | 'pipe' | 'interceptor' | 'filter';
export type ProbeClass = new () => CanActivate & PipeTransform & NestInterceptor & ExceptionFilter;

/** A class that is every kind of enhancer at once; used as the one that it is bound as. */
export function probeClass(label: string, isUnderTest = false): ProbeClass {
  const behaviour = (): string => (isUnderTest ? probe.behaviour : 'pass');
  @Catch()
  @Injectable()
  class Probe implements CanActivate, PipeTransform, NestInterceptor, ExceptionFilter {
    canActivate(context: ExecutionContext): boolean | Promise<boolean> | Observable<boolean> {
      probe.log.push(`guard ${label} ${context.getType()} ${context.getClass().name}.${context.getHandler().name}`);
      if (behaviour() === 'throw') throw probe.error;
      const isAllowed = behaviour() !== 'deny';
      if (behaviour() === 'promise') return Promise.resolve(isAllowed);
      return behaviour() === 'observable' ? of(isAllowed) : isAllowed;
    }

    transform(value: unknown, metadata: { type: string; data?: unknown; metatype?: unknown }): unknown {
      probe.log.push(`pipe ${label} ${metadata.type} ${typeof value}`);
      if (typeof value !== 'string') return value;
      if (behaviour() === 'throw') throw probe.error;
      if (behaviour() === 'promise') return Promise.resolve(`${value}+${label}`);
      return `${value}+${label}`;
    }

    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> | Promise<Observable<unknown>> {
      probe.log.push(`interceptor ${label} ${context.getType()}`);
      if (behaviour() === 'throw') throw probe.error;
      if (behaviour() === 'skipNext') return of('skipped');
      const result = next.handle().pipe(
        tap(() => probe.log.push(`interceptor ${label} after`)),
        map((value) => `${String(value)}<${label}`),
      );
      return behaviour() === 'promise' ? Promise.resolve(result) : result;
    }

    catch(_error: unknown, host: ArgumentsHost): unknown {
      probe.log.push(`filter ${label} ${host.getType()} ${typeof host.switchToRpc().getData<unknown>()}`);
      switch (behaviour()) {
        case 'value':
          return `handled by ${label}`;
        case 'observable':
          return of(`handled by ${label}`);
        case 'promise':
          return Promise.resolve(`handled by ${label}`);
        case 'throw':
          throw probe.error;
        default:
          return undefined;
      }
    }
  }
  Object.defineProperty(Probe, 'name', { value: `Probe_${label}` });
  return Probe;
}

export const globalTokens = { guard: APP_GUARD, pipe: APP_PIPE, interceptor: APP_INTERCEPTOR, filter: APP_FILTER } as const;
