import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency, Type } from '@nestjs/common';
import type { Broker, Hooks, Logger, StoreEngine, WorkerOptions } from '@tally/streams';

/** What happens when the worker stops by itself, because of an error that no policy covers. */
export type FailureReaction =
  /** The exit code becomes 1 and the application is closed; what then still keeps the process alive is given 5 s. */
  | 'exit'
  /** The application is closed; the exit code stays as it is. */
  | 'close'
  | ((error: Error) => void | Promise<void>);

export interface StreamsOptions extends Omit<WorkerOptions, 'stateDirectory'> {
  /** Bootstrap addresses, `host:port`. Either these or `broker`. */
  readonly brokers?: string | readonly string[];
  /** Further properties of the Kafka client, for example `security.protocol` or `sasl.mechanism`. Only with `brokers`. */
  readonly client?: Readonly<Record<string, string | number | boolean>>;
  /** Properties of consumers alone. Only with `brokers`. */
  readonly consumer?: Readonly<Record<string, string | number | boolean>>;
  /** Properties of producers alone, for example `compression.type`. Only with `brokers`. */
  readonly producer?: Readonly<Record<string, string | number | boolean>>;
  /**
   * Fetches records in a process of its own, which leaves this one's thread a third more time: for machines with a processor and 100 MB to spare.
   * Default false. Only with `brokers`.
   */
  readonly fetchProcess?: boolean;
  /** The broker port itself, or what makes it: another client, or a simulated broker in tests. It is closed after the worker has stopped. */
  readonly broker?: Broker | (() => Broker | Promise<Broker>);
  /** Local disk (no network file system). Optional only with a `storeEngine` of your own. */
  readonly stateDirectory?: string;
  /** Default: LevelDB. */
  readonly storeEngine?: StoreEngine;
  /** Raised with incompatible changes of topologies and stores; travels with the committed offsets. Default 1. */
  readonly topologyVersion?: number;
  readonly hooks?: Hooks;
  /** Default: Nest's logger, one line per change of state. */
  readonly logger?: Logger;
  /** Default `exit`. */
  readonly onFailure?: FailureReaction;
}

export interface StreamsModuleOptions extends StreamsOptions {
  /** For a second application in the same process: its handlers, topologies and injections name it. */
  readonly name?: string;
}

export interface StreamsOptionsFactory {
  createStreamsOptions(): StreamsOptions | Promise<StreamsOptions>;
}

export interface StreamsModuleAsyncOptions<Arguments extends readonly unknown[] = readonly never[]> extends Pick<
  ModuleMetadata,
  'imports'
> {
  readonly name?: string;
  readonly useFactory?: (...dependencies: Arguments) => StreamsOptions | Promise<StreamsOptions>;
  readonly inject?: readonly (InjectionToken | OptionalFactoryDependency)[];
  readonly useClass?: Type<StreamsOptionsFactory>;
  readonly useExisting?: InjectionToken<StreamsOptionsFactory>;
}
