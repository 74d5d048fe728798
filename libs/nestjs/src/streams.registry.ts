import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { StreamsDeclarationError } from './errors/index.js';
import type { StreamsApplication } from './streams-application.js';
import { StreamsExplorer } from './streams.explorer.js';

/**
 * All streams applications of the process, and the hooks that drive them.
 *
 * Nest runs init hooks from the module that is farthest from the root to the nearest, shutdown hooks the other way round. Workers must
 * start after everyone's init hooks and stop before anyone's shutdown hooks, so this module claims to be nearer than the root module.
 */
@Injectable()
export class StreamsRegistry implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private readonly applications = new Map<string, StreamsApplication>();

  constructor(private readonly modules: ModulesContainer) {
    for (const module of modules.values()) {
      if (module.providers.get(StreamsRegistry)?.isAlias === false) module.distance = -1;
    }
  }

  add(application: StreamsApplication): void {
    const { name } = application;
    if (this.applications.has(name)) {
      throw new StreamsDeclarationError(
        'APPLICATION_DUPLICATED',
        name,
        `StreamsModule.forRoot was imported twice for the application '${name}'. Import it once, in the root module; give a second application a name of its own.`,
      );
    }
    this.applications.set(name, application);
  }

  names(): readonly string[] {
    return [...this.applications.keys()];
  }

  onModuleInit(): void {
    for (const application of this.applications.values()) application.validate();
  }

  async onApplicationBootstrap(): Promise<void> {
    this.refuseUnknownApplications();
    for (const application of this.applications.values()) await application.bootstrapped();
  }

  async onModuleDestroy(): Promise<void> {
    // All at once: each has its own bound, and together they must fit into the time that the process is given.
    const stops = await Promise.allSettled([...this.applications.values()].map((application) => application.stop()));
    const failed = stops.find((stop) => stop.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  private refuseUnknownApplications(): void {
    const explorer = new StreamsExplorer(this.modules);
    for (const { name, application } of [...explorer.handlers(), ...explorer.topologies()]) {
      if (this.applications.has(application)) continue;
      throw new StreamsDeclarationError(
        'APPLICATION_UNKNOWN',
        name,
        `'${name}' belongs to the streams application '${application}', which no StreamsModule.forRoot declares. Declared are: ${this.names().join(', ') || 'none'}.`,
      );
    }
  }
}
