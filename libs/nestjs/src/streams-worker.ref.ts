import type { WorkerHealth } from '@tally/streams';
import type { StreamsApplication } from './streams-application.js';

/** A look at the application's worker, for health checks and diagnostics. The module starts and stops it. */
export class StreamsWorkerRef {
  constructor(private readonly application: StreamsApplication) {}

  /** Name of the application, `default` unless `forRoot` gave another. */
  get name(): string {
    return this.application.name;
  }

  /** `undefined` until the transport has started the worker. */
  health(): WorkerHealth | undefined {
    return this.application.health();
  }
}
