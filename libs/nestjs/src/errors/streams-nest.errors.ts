import { InvalidConfigurationError, TallyError } from '@tally/streams';

/** An option of `StreamsModule` that is missing, unknown or has a value that is not allowed. Code `OPTION_INVALID`. */
export class StreamsOptionError extends InvalidConfigurationError {
  constructor(option: string, message: string) {
    super('OPTION_INVALID', `Option '${option}' ${message}`, { option });
  }
}

/** A controller, topology or enhancer that cannot be used as it is declared. */
export class StreamsDeclarationError extends InvalidConfigurationError {
  constructor(code: string, node: string, message: string) {
    super(code, message, { node });
  }
}

/** There are handlers or topologies, and nothing that would run them. Code `TRANSPORT_NOT_CONNECTED`. */
export class TransportNotConnectedError extends InvalidConfigurationError {
  constructor(application: string, parts: readonly string[]) {
    super(
      'TRANSPORT_NOT_CONNECTED',
      `The streams application '${application}' has ${parts.join(', ')}, but its transport is not connected, so no record would be processed. ` +
        'Connect it in main.ts before the application is initialized: app.connectMicroservice({ strategy: streamsTransport(app) }), then ' +
        'await app.startAllMicroservices().',
    );
  }
}

/** The worker is asked for something while it does not run. Code `WORKER_NOT_RUNNING`, `retriable`. */
export class WorkerNotRunningError extends TallyError {
  constructor(application: string) {
    super({
      code: 'WORKER_NOT_RUNNING',
      kind: 'retriable',
      message: `The worker of the streams application '${application}' is not running (yet); its state can be asked once the transport has started.`,
    });
  }
}
