import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import type { InstanceWrapper } from '@nestjs/core/internal';
import type { StreamHandlerMetadata } from './decorators/index.js';
import { StreamsDeclarationError } from './errors/index.js';
import type { StreamsTopology } from './interfaces/index.js';
import { StreamsMetadataAccessor } from './streams-metadata.accessor.js';
import { defaultApplication } from './streams.constants.js';

export interface DiscoveredHandler extends StreamHandlerMetadata {
  /** Node name: `<Controller>.<method>` unless it was named. */
  readonly name: string;
  readonly application: string;
  readonly controller: object;
  readonly methodName: string;
  readonly moduleKey: string;
}

export interface DiscoveredTopology {
  readonly name: string;
  readonly application: string;
  readonly instance: StreamsTopology;
}

/** Finds topologies among the providers and stream handlers on the controllers of all modules. */
export class StreamsExplorer {
  private readonly scanner = new MetadataScanner();

  constructor(private readonly modules: ModulesContainer) {}

  /** @throws StreamsDeclarationError `TOPOLOGY_REQUEST_SCOPED`, `TOPOLOGY_DUPLICATED` */
  topologies(): readonly DiscoveredTopology[] {
    const found = new Map<object, DiscoveredTopology>();
    for (const { providers } of this.modules.values()) {
      for (const wrapper of providers.values()) {
        const topology = this.topologyOf(wrapper);
        if (topology !== undefined) found.set(topology.instance, topology);
      }
    }
    const names = new Map<string, string>();
    for (const { name, application, instance } of found.values()) {
      const other = names.get(`${application}/${name}`);
      if (other !== undefined) {
        throw new StreamsDeclarationError(
          'TOPOLOGY_DUPLICATED',
          name,
          `Both ${other} and ${instance.constructor.name} are the topology '${name}': give one another name.`,
        );
      }
      names.set(`${application}/${name}`, instance.constructor.name);
    }
    return [...found.values()];
  }

  /** @throws StreamsDeclarationError `CONTROLLER_REQUEST_SCOPED`, `HANDLER_NOT_ON_CONTROLLER`, `HANDLER_DUPLICATED` */
  handlers(): readonly DiscoveredHandler[] {
    const found: DiscoveredHandler[] = [];
    const names = new Set<string>();
    for (const [moduleKey, { controllers, providers }] of this.modules) {
      for (const wrapper of controllers.values()) found.push(...this.handlersOf(wrapper, moduleKey));
      for (const wrapper of providers.values()) this.refuseHandlersOf(wrapper);
    }
    for (const { name, application } of found) {
      if (names.has(`${application}/${name}`)) {
        throw new StreamsDeclarationError(
          'HANDLER_DUPLICATED',
          name,
          `Two stream handlers are named '${name}': give one of them a name, @StreamHandler(topic, { name }).`,
        );
      }
      names.add(`${application}/${name}`);
    }
    return found;
  }

  private topologyOf(wrapper: InstanceWrapper<unknown>): DiscoveredTopology | undefined {
    const instance = wrapper.instance as StreamsTopology | undefined;
    const metadata = StreamsMetadataAccessor.topologyOf(wrapper.metatype) ?? StreamsMetadataAccessor.topologyOf(instance?.constructor);
    if (metadata === undefined) return undefined;
    if (!wrapper.isDependencyTreeStatic() || instance === undefined) {
      throw new StreamsDeclarationError(
        'TOPOLOGY_REQUEST_SCOPED',
        metadata.name,
        `Topology '${metadata.name}' (${wrapper.name}) or one of its dependencies is request-scoped. A topology is built once, before there is any record: use the default scope.`,
      );
    }
    return { name: metadata.name, application: metadata.application ?? defaultApplication, instance };
  }

  private handlersOf(wrapper: InstanceWrapper<object>, moduleKey: string): DiscoveredHandler[] {
    const { instance } = wrapper;
    const controllerName = String(wrapper.name);
    const handlers = this.scan(instance).map(([methodName, metadata]): DiscoveredHandler => {
      const { name = `${controllerName}.${methodName}`, application = defaultApplication } = metadata.options;
      return { ...metadata, name, application, controller: instance, methodName, moduleKey };
    });
    if (handlers.length > 0 && !wrapper.isDependencyTreeStatic()) {
      throw new StreamsDeclarationError(
        'CONTROLLER_REQUEST_SCOPED',
        controllerName,
        `${controllerName} has stream handlers, but it, one of its dependencies or an enhancer that applies to it (guard, pipe, interceptor, filter; global ones too) is ` +
          'request-scoped. A new instance for every record is too slow for a stream: use the default scope and take what belongs to the record from @Ctx().',
      );
    }
    return handlers;
  }

  private refuseHandlersOf(wrapper: InstanceWrapper<unknown>): void {
    if (wrapper.isAlias || typeof wrapper.metatype !== 'function') return;
    const [first] = this.scan(wrapper.metatype.prototype as object | undefined);
    if (first === undefined) return;
    const name = `${wrapper.name}.${first[0]}`;
    throw new StreamsDeclarationError(
      'HANDLER_NOT_ON_CONTROLLER',
      name,
      `${name} has @StreamHandler, but ${wrapper.name} is a provider: declare it under controllers.`,
    );
  }

  /** Methods with the decorator, by name. Takes an instance or a prototype. */
  private scan(target: object | undefined): (readonly [string, StreamHandlerMetadata])[] {
    if (target === undefined || target === null) return [];
    return this.scanner
      .getAllMethodNames(target)
      .map((methodName) => [methodName, StreamsMetadataAccessor.handlerOf((target as Record<string, unknown>)[methodName])] as const)
      .filter((entry): entry is readonly [string, StreamHandlerMetadata] => entry[1] !== undefined);
  }
}
