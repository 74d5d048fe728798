import type { INestApplication, NestApplicationOptions, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { errorOf, TallyError } from '@tally/streams';
import { StreamsRegistry } from './streams.registry.js';
import { streamsTransport } from './streams.transport.js';

export interface BootstrapOptions {
  /** Of the HTTP server, for health checks and queries. 0 takes a free one. */
  readonly port: number | string;
  /** Default: all addresses. */
  readonly host?: string;
  /** Handlers then have the application's global guards, pipes, interceptors and filters too. Default false, as in Nest. */
  readonly inheritAppConfig?: boolean;
  readonly nest?: NestApplicationOptions;
  /** Global enhancers, prefixes and the like, before anything is connected. */
  readonly configure?: (app: INestApplication) => void | Promise<void>;
}

/**
 * Starts a service: the HTTP server first, so that probes are answered while state is restored, then the worker of every streams
 * application. Signals stop it gracefully.
 *
 * When it cannot start, the reason is printed (that of Tally's own errors without a stack trace: it says what to mend) and the process
 * ends with exit code 1.
 * @example await bootstrapStreams(AppModule, { port: 3000 });
 */
export async function bootstrapStreams(module: Type<unknown>, options: BootstrapOptions): Promise<INestApplication | undefined> {
  let app: INestApplication | undefined;
  try {
    app = await NestFactory.create(module, { ...options.nest, abortOnError: false });
    await options.configure?.(app);
    connectStreams(app, options);
    app.enableShutdownHooks();
    await (options.host === undefined ? app.listen(options.port) : app.listen(options.port, options.host));
    await app.startAllMicroservices();
    return app;
  } catch (thrown) {
    process.exitCode = 1;
    process.stderr.write(`${explain(thrown)}\n`);
    await app?.close().catch((second: unknown) => process.stderr.write(`${explain(second)}\n`));
    return undefined;
  }
}

/**
 * Connects the transports of all streams applications in a Nest application; `app.startAllMicroservices()` then starts their workers. Part of
 * `bootstrapStreams`, for who starts otherwise: with a server of one's own, or in a test.
 */
export function connectStreams(app: INestApplication, options: Pick<BootstrapOptions, 'inheritAppConfig'> = {}): void {
  const { inheritAppConfig = false } = options;
  for (const name of app.get(StreamsRegistry).names()) {
    app.connectMicroservice({ strategy: streamsTransport(app, name) }, { inheritAppConfig });
  }
}

function explain(thrown: unknown): string {
  const error = errorOf(thrown);
  return error instanceof TallyError ? `${error.name} ${error.code}: ${error.message}` : (error.stack ?? error.message);
}
