import { type DynamicModule, type InjectionToken, Module, type OptionalFactoryDependency, type Provider, type Type } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import type { AnyStoreDefinition } from '@tally/streams';
import type { StreamsModuleAsyncOptions, StreamsModuleOptions, StreamsOptions, StreamsOptionsFactory } from './interfaces/index.js';
import { StreamsApplication, type WorkerFactory } from './streams-application.js';
import { StreamsCoreModule } from './streams-core.module.js';
import { StreamsHealthIndicator } from './streams-health.indicator.js';
import { StreamsQueryService } from './streams-query.service.js';
import { StreamsWorkerRef } from './streams-worker.ref.js';
import {
  defaultApplication,
  getStoreToken,
  getStreamsApplicationToken,
  getStreamsHealthToken,
  getStreamsOptionsToken,
  getStreamsQueryToken,
  getStreamsTransportToken,
  getStreamsWorkerToken,
  workerFactoryToken,
} from './streams.constants.js';
import { StreamsRegistry } from './streams.registry.js';
import { StreamsTransport } from './streams.transport.js';

/**
 * Stream processing in a Nest application. `forRoot` is imported once for each streams application, in the root module; it is global.
 * @example
 * ```ts
 * @Module({ imports: [StreamsModule.forRoot({ applicationId: 'ledger', brokers: 'localhost:9092', stateDirectory: '/var/lib/ledger' })] })
 * ```
 */
@Module({})
export class StreamsModule {
  static forRoot(options: StreamsModuleOptions): DynamicModule {
    const { name, ...own } = options;
    return rootModule(name, [], [{ provide: getStreamsOptionsToken(name), useValue: own }]);
  }

  static forRootAsync<const Arguments extends readonly unknown[]>(options: StreamsModuleAsyncOptions<Arguments>): DynamicModule {
    return rootModule(options.name, options.imports ?? [], asyncOptions(options as StreamsModuleAsyncOptions<readonly unknown[]>));
  }

  /** Provides stores for `@InjectStore` in the module that imports it. Topologies are ordinary providers of any module. */
  static forFeature(stores: readonly AnyStoreDefinition[], application?: string): DynamicModule {
    const providers = stores.map((store) => storeProvider(store, application));
    return { module: StreamsModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}

function storeProvider(store: AnyStoreDefinition, application: string | undefined) {
  return {
    provide: getStoreToken(store, application),
    useFactory: (queries: StreamsQueryService) => queries.store<unknown>(store),
    inject: [getStreamsQueryToken(application)],
  };
}

function rootModule(name: string | undefined, imports: NonNullable<DynamicModule['imports']>, options: readonly Provider[]): DynamicModule {
  const application = getStreamsApplicationToken(name);
  const shared: Provider[] = [
    {
      provide: getStreamsQueryToken(name),
      useFactory: (streams: StreamsApplication) => new StreamsQueryService(streams),
      inject: [application],
    },
    {
      provide: getStreamsWorkerToken(name),
      useFactory: (streams: StreamsApplication) => new StreamsWorkerRef(streams),
      inject: [application],
    },
    {
      provide: getStreamsHealthToken(name),
      useFactory: (worker: StreamsWorkerRef) => new StreamsHealthIndicator(worker),
      inject: [getStreamsWorkerToken(name)],
    },
    {
      provide: getStreamsTransportToken(name),
      useFactory: (streams: StreamsApplication, config: ApplicationConfig, http: HttpAdapterHost, modules: ModulesContainer) =>
        new StreamsTransport(streams, config, http, modules),
      inject: [application, ApplicationConfig, HttpAdapterHost, ModulesContainer],
    },
    ...(name === undefined || name === defaultApplication ? classTokens : []),
  ];
  return {
    module: StreamsModule,
    global: true,
    imports: [StreamsCoreModule, ...imports],
    providers: [
      ...options,
      {
        provide: application,
        useFactory: (own: StreamsOptions, modules: ModulesContainer, createWorker: WorkerFactory, registry: StreamsRegistry) => {
          const streams = new StreamsApplication(name ?? defaultApplication, own, modules, createWorker);
          registry.add(streams);
          return streams;
        },
        inject: [getStreamsOptionsToken(name), ModulesContainer, workerFactoryToken, StreamsRegistry],
      },
      ...shared,
    ],
    exports: shared.map((provider) => (provider as { readonly provide: InjectionToken }).provide),
  };
}

/** The default application's services are injected by their class. */
const classTokens: readonly Provider[] = [
  { provide: StreamsQueryService, useExisting: getStreamsQueryToken() },
  { provide: StreamsWorkerRef, useExisting: getStreamsWorkerToken() },
  { provide: StreamsHealthIndicator, useExisting: getStreamsHealthToken() },
];

function asyncOptions(options: StreamsModuleAsyncOptions<readonly unknown[]>): Provider[] {
  const provide = getStreamsOptionsToken(options.name);
  if (options.useFactory !== undefined) {
    return [
      { provide, useFactory: options.useFactory, inject: [...((options.inject ?? []) as (InjectionToken | OptionalFactoryDependency)[])] },
    ];
  }
  const factory = options.useExisting ?? options.useClass;
  if (factory === undefined) throw new TypeError('StreamsModule.forRootAsync needs one of useFactory, useClass and useExisting.');
  const fromFactory: Provider = { provide, useFactory: (each: StreamsOptionsFactory) => each.createStreamsOptions(), inject: [factory] };
  return options.useExisting === undefined ? [options.useClass as Type<StreamsOptionsFactory>, fromFactory] : [fromFactory];
}
