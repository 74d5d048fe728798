import type { Broker, StoreEngine, WorkerOptions } from '@tally/streams';
import { StreamsOptionError } from './errors/index.js';
import type { StreamsOptions } from './interfaces/index.js';

/** Every option of the module; the compiler sees to it that none is forgotten. */
const known: Readonly<Record<keyof Required<StreamsOptions> | 'name', true>> = {
  name: true,
  applicationId: true,
  brokers: true,
  client: true,
  consumer: true,
  producer: true,
  fetchProcess: true,
  broker: true,
  stateDirectory: true,
  storeEngine: true,
  topologyVersion: true,
  guarantee: true,
  commitIntervalMs: true,
  stateFlushIntervalMs: true,
  transactionTimeoutMs: true,
  commitSettleTimeoutMs: true,
  bufferBytesMax: true,
  cacheBytesMax: true,
  recordsPerConsume: true,
  maxRecordBytes: true,
  handlerDeadlineMs: true,
  errors: true,
  replicationFactor: true,
  tombstoneRetentionMs: true,
  slotsMax: true,
  lockTimeoutMs: true,
  shutdownTimeoutMs: true,
  brokerTimeoutMs: true,
  hooks: true,
  logger: true,
  onFailure: true,
};

const moduleOptions = [
  'name',
  'brokers',
  'client',
  'consumer',
  'producer',
  'fetchProcess',
  'broker',
  'storeEngine',
  'topologyVersion',
  'hooks',
  'logger',
  'onFailure',
] as const;

const propertyOptions = ['client', 'consumer', 'producer'] as const;
const kafkaOptions = [...propertyOptions, 'fetchProcess'] as const;

/** `host:port`, perhaps behind a protocol, the host a name, an IPv4 address or an IPv6 address in brackets. */
const address = /^(?:[A-Z_]+:\/\/)?(\[[0-9a-fA-F:.]+\]|[^\s:/,[\]]+):(\d{1,5})$/;

/**
 * Checks what the module itself uses; the worker checks the rest when it is made.
 * @throws StreamsOptionError naming the option and what is allowed
 */
export function validateStreamsOptions(options: StreamsOptions): void {
  if (options === null || typeof options !== 'object')
    throw new StreamsOptionError('options', `must be an object; the factory returned ${String(options)}.`);
  for (const option of Object.keys(options)) {
    if (!Object.hasOwn(known, option)) throw new StreamsOptionError(option, `is unknown. Known are: ${Object.keys(known).join(', ')}.`);
  }
  validateBroker(options);
  validateState(options);
  const { topologyVersion, onFailure } = options;
  if (topologyVersion !== undefined && !(Number.isSafeInteger(topologyVersion) && topologyVersion >= 1 && topologyVersion < 2 ** 31)) {
    throw new StreamsOptionError('topologyVersion', `must be a whole number from 1 on; it is ${String(topologyVersion)}.`);
  }
  if (onFailure !== undefined && onFailure !== 'exit' && onFailure !== 'close' && typeof onFailure !== 'function') {
    throw new StreamsOptionError('onFailure', `must be 'exit', 'close' or a function; it is '${String(onFailure)}'.`);
  }
  for (const option of ['logger', 'hooks'] as const) {
    const value: unknown = options[option];
    if (value !== undefined && (value === null || typeof value !== 'object'))
      throw new StreamsOptionError(option, `must be an object; it is ${typeof value}.`);
  }
}

function validateBroker(options: StreamsOptions): void {
  const { brokers, broker } = options;
  if (broker !== undefined && brokers !== undefined)
    throw new StreamsOptionError('broker', `and option 'brokers' exclude one another: give one of them.`);
  if (broker !== undefined) {
    const superfluous = kafkaOptions.find((option) => options[option] !== undefined);
    if (superfluous !== undefined) throw new StreamsOptionError(superfluous, `belongs to 'brokers'; a 'broker' has its own settings.`);
    if (typeof broker !== 'function' && typeof (broker as Broker | null)?.connect !== 'function') {
      throw new StreamsOptionError('broker', 'must be a broker or a function that makes one.');
    }
    return;
  }
  const addresses = brokerAddresses(brokers);
  if (addresses.length === 0)
    throw new StreamsOptionError('brokers', `must name at least one Kafka broker as 'host:port'; it is missing or empty.`);
  for (const each of addresses) {
    const port = Number(address.exec(each)?.[2] ?? 0);
    if (port < 1 || port > 65_535) throw new StreamsOptionError('brokers', `must be addresses of the form 'host:port'; '${each}' is none.`);
  }
  for (const option of propertyOptions) validateProperties(option, options[option]);
  const { fetchProcess } = options;
  if (fetchProcess !== undefined && typeof fetchProcess !== 'boolean')
    throw new StreamsOptionError('fetchProcess', `must be true or false; it is ${String(fetchProcess)}.`);
}

function validateProperties(option: string, properties: unknown): void {
  if (properties === undefined) return;
  if (properties === null || typeof properties !== 'object')
    throw new StreamsOptionError(option, `must be an object of client properties; it is ${String(properties)}.`);
  for (const [name, value] of Object.entries(properties)) {
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw new StreamsOptionError(
        option,
        `must hold strings, numbers and booleans; '${name}' is ${value === null ? 'null' : typeof value}.`,
      );
    }
  }
}

function validateState({ stateDirectory, storeEngine }: StreamsOptions): void {
  if (storeEngine !== undefined && typeof (storeEngine as StoreEngine | null)?.open !== 'function') {
    throw new StreamsOptionError('storeEngine', 'must be a store engine (an object with open and destroy).');
  }
  if (storeEngine === undefined && (typeof stateDirectory !== 'string' || stateDirectory === '')) {
    throw new StreamsOptionError('stateDirectory', 'must name a directory on a local disk; it is missing or empty.');
  }
}

/** The bootstrap addresses one by one, whichever way they were given. */
export function brokerAddresses(brokers: StreamsOptions['brokers']): readonly string[] {
  const list = typeof brokers === 'string' ? brokers.split(',') : Array.isArray(brokers) ? (brokers as readonly unknown[]) : [];
  return list.map((each) => String(each).trim()).filter((each) => each !== '');
}

/** What is left for the worker. With a store engine of one's own the directory is only a name. */
export function workerOptions(options: StreamsOptions): WorkerOptions {
  const rest: Partial<Record<string, unknown>> = { ...options };
  for (const option of moduleOptions) delete rest[option];
  return { ...(rest as unknown as WorkerOptions), stateDirectory: options.stateDirectory ?? 'memory' };
}
