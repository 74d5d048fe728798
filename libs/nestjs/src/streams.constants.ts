/**
 * Tokens and metadata keys. All of them are `Symbol.for`: when two copies of this package meet in one process (a library that brings its
 * own, a linked workspace), they still find each other's metadata and providers.
 */

/** Name of the application that is meant where none is named. */
export const defaultApplication = 'default';

export const topologyMetadata = Symbol.for('tally:topology');
export const streamHandlerMetadata = Symbol.for('tally:stream-handler');

function token(kind: string, application: string): symbol {
  return Symbol.for(`tally:${kind}:${application}`);
}

/** Token of the `StreamsOptions` of an application. */
export const getStreamsOptionsToken = (application: string = defaultApplication): symbol => token('options', application);
/** Token of the application's owner of the worker. */
export const getStreamsApplicationToken = (application: string = defaultApplication): symbol => token('application', application);
/** Token of the transport; for `NestFactory.createMicroservice`, where no application exists yet that `streamsTransport` could take. */
export const getStreamsTransportToken = (application: string = defaultApplication): symbol => token('transport', application);
/** Token of the `StreamsQueryService` of a named application; that of the default application is the class. */
export const getStreamsQueryToken = (application: string = defaultApplication): symbol => token('query', application);
/** Token of the `StreamsHealthIndicator` of a named application; that of the default application is the class. */
export const getStreamsHealthToken = (application: string = defaultApplication): symbol => token('health', application);
/** Token of the `StreamsWorkerRef` of a named application; that of the default application is the class. */
export const getStreamsWorkerToken = (application: string = defaultApplication): symbol => token('worker', application);
/** Token of a store that `StreamsModule.forFeature` provides. */
export const getStoreToken = (store: { readonly name: string }, application: string = defaultApplication): symbol =>
  token(`store:${store.name}`, application);

/** Transport id under which Nest hands an application's handlers to its transport and to no other. */
export const transportId = (application: string): symbol => token('transport-id', application);

/** Token of the function that makes workers; tests put another one in its place, such as a test driver's `createWorker`. */
export const workerFactoryToken = Symbol.for('tally:worker-factory');
