/**
 * One streams application in a Nest process: owns the worker, from the first check of the options to the last commit.
 *
 * 1. The worker starts when the transport was told to listen *and* the application has been bootstrapped, whichever comes last: so no
 *    record is processed before users' init hooks have run, also when `startAllMicroservices()` is called before `listen()`.
 * 2. It stops in the first shutdown hook of all, before the providers that handlers use are destroyed.
 * 3. A worker that fails by itself logs why, in one line; then the application reacts as `onFailure` says.
 */
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import {
  type Broker,
  LevelDbEngine,
  type Logger,
  type QueryHandle,
  StreamsBuilder,
  type StreamsWorker,
  type Topology,
  TopologyBuilder,
  type WorkerHealth,
  type WorkerOptions,
  type WorkerParts,
  resolveOptions,
  untypedTopic,
} from '@tally/streams';
import { TransportNotConnectedError, WorkerNotRunningError } from './errors/index.js';
import { reactToFailure, type ClosableApplication } from './failure-reaction.js';
import { HandlerCompiler } from './handlers/handler-compiler.js';
import { handlerProcessor } from './handlers/handler-processor.js';
import type { StreamsOptions } from './interfaces/index.js';
import { nestLogger } from './nest-logger.js';
import { brokerAddresses, validateStreamsOptions, workerOptions } from './streams-options.validator.js';
import { type DiscoveredHandler, type DiscoveredTopology, StreamsExplorer } from './streams.explorer.js';

/** What the module needs of a worker. */
export type Worker = Pick<StreamsWorker, 'start' | 'stop' | 'finished' | 'health' | 'query'>;

/** What a worker runs, and whom it tells. */
export type WorkerProgram = Pick<WorkerParts, 'topology' | 'hooks' | 'logger'>;

/** What it runs on. */
export type WorkerPorts = Pick<WorkerParts, 'broker' | 'storeEngine'>;

/**
 * Makes the worker of an application.
 * @param openPorts makes the broker and the store engine that the options name; whoever brings others does not call it
 */
export type WorkerFactory = (
  program: WorkerProgram,
  options: WorkerOptions,
  openPorts: () => Promise<WorkerPorts>,
) => Worker | Promise<Worker>;

/** What the transport knows of the Nest application that it is connected to. */
export interface Connection {
  /** Holds the global enhancers that apply to handlers: the microservice's own, or the application's where it inherits them. */
  config(): ApplicationConfig;
  readonly application: ClosableApplication | undefined;
}

export class StreamsApplication {
  readonly logger: Logger;
  private connection: Connection | undefined;
  private isListening = false;
  private isBootstrapped = false;
  private isStopping = false;
  private starting: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;
  private worker: Worker | undefined;

  constructor(
    readonly name: string,
    private readonly options: StreamsOptions,
    private readonly modules: ModulesContainer,
    private readonly createWorker: WorkerFactory,
  ) {
    this.logger = options?.logger ?? nestLogger(name);
  }

  /** @throws InvalidConfigurationError naming the option */
  validate(): void {
    validateStreamsOptions(this.options);
    resolveOptions(workerOptions(this.options));
  }

  /** The transport was connected to a Nest application. */
  connect(connection: Connection): void {
    this.connection = connection;
  }

  /** The transport listens. Rejects with the error that kept the worker from starting. */
  async listen(): Promise<void> {
    this.isListening = true;
    if (this.isBootstrapped) await this.start();
  }

  /**
   * All init hooks of the Nest application have run.
   * @throws TransportNotConnectedError when there is something to run and nothing that would run it
   */
  async bootstrapped(): Promise<void> {
    this.isBootstrapped = true;
    const parts = [...this.topologies().map(({ name }) => `topology '${name}'`), ...this.handlers().map(({ name }) => `handler '${name}'`)];
    if (parts.length > 0 && this.connection === undefined) throw new TransportNotConnectedError(this.name, parts);
    if (this.isListening) await this.start();
  }

  /** Finishes the records in hand, commits, leaves the group. Idempotent, and safe at any time. */
  stop(): Promise<void> {
    this.isStopping = true;
    this.stopping ??= this.shutDown();
    return this.stopping;
  }

  /** `undefined` until the worker has been made. */
  health(): WorkerHealth | undefined {
    return this.worker?.health();
  }

  /** @throws WorkerNotRunningError */
  query<Q>(store: QueryHandle<Q>): Q {
    if (this.worker === undefined) throw new WorkerNotRunningError(this.name);
    return this.worker.query(store);
  }

  private start(): Promise<void> {
    this.starting ??= this.startWorker();
    return this.starting;
  }

  private async startWorker(): Promise<void> {
    if (this.isStopping) return;
    const { storeEngine = new LevelDbEngine(), hooks } = this.options;
    const program: WorkerProgram = { topology: this.buildTopology(), logger: this.logger, ...(hooks === undefined ? {} : { hooks }) };
    // The worker closes the broker, whichever way it ends.
    const openPorts = async (): Promise<WorkerPorts> => ({ broker: await this.createBroker(), storeEngine });
    const worker = await this.createWorker(program, workerOptions(this.options), openPorts);
    this.worker = worker;
    await worker.start();
    worker.finished.catch((error: unknown) => (this.isStopping ? undefined : this.failed(error)));
  }

  private async failed(error: unknown): Promise<void> {
    await reactToFailure(error, this.options.onFailure ?? 'exit', {
      logger: this.logger,
      close: async () => {
        const application = this.connection?.application;
        if (application === undefined) await this.stop();
        else await application.close();
      },
    });
  }

  private async shutDown(): Promise<void> {
    // A start that is under way ends first; its error, if any, has gone to whoever asked for the start.
    await this.starting?.catch(() => undefined);
    await this.worker?.stop();
  }

  private buildTopology(): Topology {
    const { topologyVersion: version = 1 } = this.options;
    const builder = new TopologyBuilder({ name: this.options.applicationId, version });
    for (const { name, instance } of this.topologies()) instance.build(new StreamsBuilder({ topology: builder, namePrefix: name }));
    const config = this.connection?.config();
    const handlers = this.handlers();
    if (handlers.length > 0 && config !== undefined) {
      const compiler = new HandlerCompiler(this.modules, config);
      for (const handler of handlers) addHandler(builder, handler, compiler);
    }
    return builder.build();
  }

  private async createBroker(): Promise<Broker> {
    const { broker, brokers, client, consumer, producer, fetchProcess } = this.options;
    if (typeof broker === 'function') return broker();
    if (broker !== undefined) return broker;
    // Loaded only now: who brings a broker of one's own needs no native client.
    const { KafkaBroker } = await import('@tally/kafka');
    return new KafkaBroker({
      brokers: brokerAddresses(brokers),
      clientId: this.options.applicationId,
      client,
      consumer,
      producer,
      fetchProcess,
      logger: this.logger,
    });
  }

  private handlers(): readonly DiscoveredHandler[] {
    return new StreamsExplorer(this.modules).handlers().filter(({ application }) => application === this.name);
  }

  private topologies(): readonly DiscoveredTopology[] {
    return new StreamsExplorer(this.modules).topologies().filter(({ application }) => application === this.name);
  }
}

function addHandler(builder: TopologyBuilder, handler: DiscoveredHandler, compiler: HandlerCompiler): void {
  const { name, topic, options } = handler;
  const { stores, concurrency, deadlineMs, errors } = options;
  const create = handlerProcessor(compiler.compile(handler));
  builder.processor(builder.source(untypedTopic(topic)), {
    name,
    create,
    ...(stores === undefined ? {} : { stores }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(errors === undefined ? {} : { errors }),
  });
}
