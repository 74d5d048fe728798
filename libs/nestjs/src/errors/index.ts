export { StreamsDeclarationError, StreamsOptionError, TransportNotConnectedError, WorkerNotRunningError } from './streams-nest.errors.js';
