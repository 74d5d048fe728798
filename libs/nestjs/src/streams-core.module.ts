import { Global, Module } from '@nestjs/common';
import { StreamsWorker } from '@tally/streams';
import type { WorkerFactory } from './streams-application.js';
import { workerFactoryToken } from './streams.constants.js';
import { StreamsRegistry } from './streams.registry.js';

const createWorker: WorkerFactory = async (program, options, openPorts) =>
  new StreamsWorker({ ...program, ...(await openPorts()) }, options);

/** What all streams applications of a process share. */
@Global()
@Module({
  providers: [StreamsRegistry, { provide: workerFactoryToken, useValue: createWorker }],
  exports: [StreamsRegistry, workerFactoryToken],
})
export class StreamsCoreModule {}
