/**
 * Collects a handler's enhancers with Nest's own context creators, as its `RpcContextCreator` does. These come from `internal` entry
 * points, so the minor versions of Nest are pinned, and a contract test compares the outcome with Nest's proxy.
 */
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { CUSTOM_ROUTE_ARGS_METADATA } from '@nestjs/common/internal';
import type { ApplicationConfig, ModulesContainer, NestContainer } from '@nestjs/core';
import {
  ContextUtils,
  GuardsContextCreator,
  InterceptorsContextCreator,
  ParamsTokenFactory,
  PipesContextCreator,
} from '@nestjs/core/internal';
import { PARAM_ARGS_METADATA } from '@nestjs/microservices/constants.js';
import { ExceptionFiltersContext } from '@nestjs/microservices/context/exception-filters-context.js';
import { DEFAULT_CALLBACK_METADATA } from '@nestjs/microservices/context/rpc-metadata-constants.js';
import { RpcParamtype } from '@nestjs/microservices/enums/rpc-paramtype.enum.js';
import { compileHandler, type CompiledHandler } from './compiled-handler.js';
import type { CustomFilters } from './filters.js';
import type { HandlerArguments, Parameter } from './parameters.js';

/** What a parameter decorator leaves behind, under the key `<type>:<index>`. */
interface ParameterMetadata {
  readonly index: number;
  readonly data?: unknown;
  readonly pipes?: unknown[];
  readonly schema?: ArgumentMetadata['schema'];
  readonly factory?: (data: unknown, host: unknown) => unknown;
}

type Method = (...args: unknown[]) => unknown;

export interface HandlerPlace {
  readonly controller: object;
  readonly methodName: string;
  /** Key of the controller's module in the container: class enhancers are instances of that module. */
  readonly moduleKey: string;
}

export class HandlerCompiler {
  private readonly contextUtils = new ContextUtils();
  private readonly guards: GuardsContextCreator;
  private readonly pipes: PipesContextCreator;
  private readonly interceptors: InterceptorsContextCreator;
  private readonly filters: ExceptionFiltersContext;

  /** @param config holds the global enhancers that apply: those of the application or of the microservice, as it was connected */
  constructor(
    modules: ModulesContainer,
    private readonly config: ApplicationConfig,
  ) {
    // The creators ask their container for its modules and for nothing else.
    const container = { getModules: () => modules } as unknown as NestContainer;
    this.guards = new GuardsContextCreator(container, config);
    this.pipes = new PipesContextCreator(container, config);
    this.interceptors = new InterceptorsContextCreator(container, config);
    this.filters = new ExceptionFiltersContext(container, config);
  }

  compile({ controller, methodName, moduleKey }: HandlerPlace): CompiledHandler {
    const method = (controller as Record<string, Method>)[methodName] as Method;
    const { parameters, argumentCount } = this.parametersOf(controller, methodName, method, moduleKey);
    return compileHandler({
      controller,
      method,
      parameters,
      argumentCount,
      guards: this.guards.create(controller, method, moduleKey),
      interceptors: this.interceptors.create(controller, method, moduleKey),
      hooks: this.config.getGlobalPreRequestHooks(),
      filters: this.filtersOf(controller, method, moduleKey),
    });
  }

  private filtersOf(controller: object, method: Method, moduleKey: string): CustomFilters | undefined {
    const handler = this.filters.create(controller, method as never, moduleKey) as unknown as CustomFilters & {
      readonly filters: readonly unknown[];
    };
    return handler.filters.length === 0 ? undefined : handler;
  }

  private parametersOf(
    controller: object,
    methodName: string,
    method: Method,
    moduleKey: string,
  ): { readonly parameters: readonly Parameter[]; readonly argumentCount: number } {
    const metadata: Record<string, ParameterMetadata> =
      this.contextUtils.reflectCallbackMetadata(controller, methodName, PARAM_ARGS_METADATA) ?? DEFAULT_CALLBACK_METADATA;
    const types: readonly unknown[] = this.contextUtils.reflectCallbackParamtypes(controller, methodName) ?? [];
    const methodPipes: readonly PipeTransform[] = this.pipes.create(controller, method, moduleKey);
    const contextFactory = this.contextUtils.getContextFactory('rpc', controller, method);
    const keys = Object.keys(metadata);
    this.pipes.setModuleContext(moduleKey);
    const parameters = keys.map((key): Parameter => {
      const entry = metadata[key] as ParameterMetadata;
      const { index, data, pipes = [], schema } = entry;
      const type = this.contextUtils.mapParamType(key);
      const isCustom = key.includes(CUSTOM_ROUTE_ARGS_METADATA);
      return {
        index,
        extract: isCustom ? this.customExtractor(entry, contextFactory) : builtInExtractor(Number(type), data),
        pipes: methodPipes.concat(this.pipes.createConcreteContext<unknown[], PipeTransform[]>(pipes)),
        metadata: {
          metatype: types[index],
          type: new ParamsTokenFactory().exchangeEnumForString((isCustom ? type : Number(type)) as never),
          data,
          schema,
        } as ArgumentMetadata,
      };
    });
    return { parameters, argumentCount: this.contextUtils.getArgumentsLength(keys, metadata) };
  }

  private customExtractor({ factory, data }: ParameterMetadata, contextFactory: (args: unknown[]) => unknown): Parameter['extract'] {
    return factory === undefined ? () => null : (args) => factory(data, contextFactory(args));
  }
}

function builtInExtractor(type: number, data: unknown): Parameter['extract'] {
  if (type === (RpcParamtype.PAYLOAD as number)) {
    if (!data) return (args: HandlerArguments) => args[0];
    return (args) => (args[0] as Record<string, unknown> | null | undefined)?.[String(data)];
  }
  if (type === (RpcParamtype.CONTEXT as number)) return (args) => args[1];
  return () => null;
}
