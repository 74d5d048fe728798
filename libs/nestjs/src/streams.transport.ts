import type { INestApplication, INestApplicationContext } from '@nestjs/common';
import { ApplicationConfig, type HttpAdapterHost, type ModulesContainer } from '@nestjs/core';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { InvalidConfigurationError } from '@tally/streams';
import type { Connection, StreamsApplication } from './streams-application.js';
import { getStreamsTransportToken, transportId } from './streams.constants.js';

/**
 * The microservice transport: a facade. Nest registers the handlers here and tells it when to listen and to close; the module owns the
 * worker, and records do not go through Nest's proxy.
 */
export class StreamsTransport extends Server implements CustomTransportStrategy {
  override readonly transportId: symbol;
  override readonly propagatesEventHandlerErrors = true;
  private application: INestApplication | undefined;

  constructor(
    private readonly streams: StreamsApplication,
    private readonly config: ApplicationConfig,
    private readonly httpAdapterHost: HttpAdapterHost,
    modules: ModulesContainer,
  ) {
    super();
    this.transportId = transportId(streams.name);
    // Nest announces each transport that it is given: so it is known whether one was connected.
    modules.getRpcTargetRegistry().subscribe((target: unknown) => {
      if (target === this) streams.connect(this.connection());
    });
  }

  /** Says which application the transport is about to be connected to. */
  attach(application: INestApplication): void {
    this.application = application;
  }

  listen(callback: (error?: unknown) => void): void {
    this.streams.listen().then(() => callback(), callback);
  }

  async close(): Promise<void> {
    await this.streams.stop();
  }

  on(event: string): never {
    throw new InvalidConfigurationError(
      'TRANSPORT_EVENTS_UNSUPPORTED',
      `The streams transport has no event '${event}'; use the module's option 'hooks'.`,
    );
  }

  unwrap<T>(): T {
    return this.streams as T;
  }

  private connection(): Connection {
    return { config: () => this.globalEnhancers(), application: this.application };
  }

  /** Global enhancers as the transport was connected: with `inheritAppConfig` those of the application, else the microservice's own. */
  private globalEnhancers(): ApplicationConfig {
    const microservice = this.application?.getMicroservices().find((each) => each.getTransportServer() === this);
    if (microservice !== undefined) return (microservice as unknown as { readonly applicationConfig: ApplicationConfig }).applicationConfig;
    if (this.httpAdapterHost.httpAdapter && this.application === undefined) {
      throw new InvalidConfigurationError(
        'TRANSPORT_NOT_ATTACHED',
        `The transport of the streams application '${this.streams.name}' was connected without its application, so its global guards, pipes, ` +
          'interceptors and filters are not known. Connect it as app.connectMicroservice({ strategy: streamsTransport(app) }).',
      );
    }
    // A microservice of its own: its configuration is that of the container.
    return this.config;
  }
}

/**
 * The transport of a streams application, for `connectMicroservice`.
 * @example
 * ```ts
 * const app = await NestFactory.create(AppModule);
 * app.connectMicroservice({ strategy: streamsTransport(app) }, { inheritAppConfig: true });
 * app.enableShutdownHooks();
 * await app.listen(3000);
 * await app.startAllMicroservices();
 * ```
 */
export function streamsTransport(app: INestApplication, name?: string): StreamsTransport {
  const transport = (app as INestApplicationContext).get<StreamsTransport>(getStreamsTransportToken(name));
  transport.attach(app);
  return transport;
}
