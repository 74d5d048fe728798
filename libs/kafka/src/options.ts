/** The options of the broker, checked when it is created. */
import { BrokerError, type Logger, silentLogger } from '@tally/streams';

export type ClientPropertyValue = string | number | boolean;

export interface KafkaBrokerOptions {
  /** Bootstrap addresses, `host:port`; an array, or one string with commas. */
  readonly brokers: string | readonly string[];
  /** Prefix of the client ids of clients that have none of their own (admin, output producer, readers). Default `tally`. */
  readonly clientId?: string | undefined;
  /**
   * More properties of librdkafka for every client, above all security: `security.protocol`, `sasl.mechanism`, `ssl.ca.location`, ...
   * Those that the protocol depends on are refused.
   */
  readonly client?: Readonly<Record<string, ClientPropertyValue>> | undefined;
  /** More properties for consumers and readers alone, such as `queued.max.messages.kbytes`. */
  readonly consumer?: Readonly<Record<string, ClientPropertyValue>> | undefined;
  /** More properties for producers alone, such as `compression.type`. */
  readonly producer?: Readonly<Record<string, ClientPropertyValue>> | undefined;
  /**
   * A process of its own fetches what the group's consumer reads and makes records of it: a third of the work of this process's thread (docs/decisions/016).
   * For machines with a processor to spare; it takes about 100 MB of memory, and a tenth more processor time in all. Default: false.
   */
  readonly fetchProcess?: boolean | undefined;
  /** How long `connect`, an admin request and a seek may take, in milliseconds. Default 10,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** How long closing one client may take before it is left behind, in milliseconds. Default 15,000. */
  readonly closeTimeoutMs?: number | undefined;
  /** Default: silent. */
  readonly logger?: Logger | undefined;
}

export interface ResolvedOptions {
  readonly brokers: string;
  readonly clientId: string;
  readonly client: Readonly<Record<string, string>>;
  readonly consumer: Readonly<Record<string, string>>;
  readonly producer: Readonly<Record<string, string>>;
  readonly fetchProcess: boolean;
  readonly requestTimeoutMs: number;
  readonly closeTimeoutMs: number;
  readonly logger: Logger;
}

/** What exactly-once, group membership or the byte-exact mapping depends on, with where it is decided instead. */
const ownedProperties: Readonly<Record<string, string>> = {
  'bootstrap.servers': 'use the option `brokers`',
  'metadata.broker.list': 'use the option `brokers`',
  'client.id': 'use the option `clientId`',
  'group.id': 'it is the application id',
  'group.instance.id': 'members are dynamic',
  'group.protocol': 'it is always `consumer` (KIP-848)',
  'group.remote.assignor': 'it is always `range`',
  'partition.assignment.strategy': 'the assignor is always `range`',
  'session.timeout.ms': 'under KIP-848 the broker decides it (`group.consumer.session.timeout.ms`)',
  'heartbeat.interval.ms': 'under KIP-848 the broker decides it',
  'transactional.id': 'it is derived from the application id',
  'transaction.timeout.ms': "use the worker's option `transactionTimeoutMs`",
  'enable.auto.commit': 'offsets are committed in the transaction',
  'auto.commit.enable': 'offsets are committed in the transaction',
  'auto.commit.interval.ms': 'offsets are committed in the transaction',
  'enable.auto.offset.store': 'offsets are committed in the transaction',
  'auto.offset.reset': 'Tally decides where each partition starts',
  'isolation.level': 'it is always `read_committed`',
  'enable.partition.eof': 'positions depend on it',
  'enable.idempotence': 'it is always on',
  'enable.gapless.guarantee': 'transactions give it',
  acks: 'it is always `all`',
  'request.required.acks': 'it is always `all`',
  'message.timeout.ms': "the transaction's timeout decides it",
  'delivery.timeout.ms': "the transaction's timeout decides it",
  'delivery.report.only.error': 'Tally reads the reports',
  'delivery.report': 'Tally reads the reports',
  partitioner: 'Tally computes partitions itself',
  debug: 'the version check uses it',
  'log.queue': 'Tally reads the log',
  'batch.size': "a batch must stay below the topic's `max.message.bytes`, or many small records would be refused for one",
};

const optionNames: ReadonlySet<string> = new Set([
  'brokers',
  'clientId',
  'client',
  'consumer',
  'producer',
  'fetchProcess',
  'requestTimeoutMs',
  'closeTimeoutMs',
  'logger',
]);

/** @throws BrokerError of kind `invalid`, naming the option. */
export function resolveOptions(options: KafkaBrokerOptions): ResolvedOptions {
  if (typeof options !== 'object' || options === null) throw invalidOption('options', 'The options must be an object.');
  for (const name of Object.keys(options)) {
    if (!optionNames.has(name)) throw invalidOption(name, `There is no option \`${name}\`; there are ${[...optionNames].join(', ')}.`);
  }
  return {
    brokers: resolveBrokers(options.brokers),
    clientId: resolveClientId(options.clientId ?? 'tally'),
    client: resolveProperties('client', options.client),
    consumer: resolveProperties('consumer', options.consumer),
    producer: resolveProperties('producer', options.producer),
    fetchProcess: resolveFlag('fetchProcess', options.fetchProcess ?? false),
    requestTimeoutMs: resolveDuration('requestTimeoutMs', options.requestTimeoutMs ?? 10_000),
    closeTimeoutMs: resolveDuration('closeTimeoutMs', options.closeTimeoutMs ?? 15_000),
    logger: options.logger ?? silentLogger,
  };
}

function resolveBrokers(brokers: unknown): string {
  const list = typeof brokers === 'string' ? brokers.split(',') : brokers;
  if (!Array.isArray(list)) throw invalidOption('brokers', 'The option `brokers` must be an array of addresses like `localhost:9092`.');
  const addresses = list.map((address: unknown) => (typeof address === 'string' ? address.trim() : ''));
  if (addresses.length === 0)
    throw invalidOption('brokers', 'The option `brokers` is empty; give at least one address like `localhost:9092`.');
  for (const address of addresses) checkAddress(address);
  return addresses.join(',');
}

function checkAddress(address: string): void {
  const port = /^(?:[A-Z_]+:\/\/)?(?:\[[0-9a-fA-F:.]+\]|[^\s:/,[\]]+):(\d{1,5})$/.exec(address)?.[1];
  if (port !== undefined && Number(port) > 0 && Number(port) <= 65_535) return;
  throw invalidOption('brokers', `The option \`brokers\` has the address ${JSON.stringify(address)}; it must have the form \`host:port\`.`);
}

function resolveClientId(clientId: unknown): string {
  if (typeof clientId === 'string' && /^[a-zA-Z0-9._-]{1,200}$/.test(clientId)) return clientId;
  throw invalidOption('clientId', 'The option `clientId` may have letters, digits, `.`, `_` and `-`, 1 to 200 of them.');
}

function resolveProperties(option: 'client' | 'consumer' | 'producer', properties: unknown): Record<string, string> {
  if (properties === undefined) return {};
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) {
    throw invalidOption(option, `The option \`${option}\` must be an object of librdkafka properties.`);
  }
  const resolved: Record<string, string> = {};
  for (const [name, value] of Object.entries(properties)) {
    const reason = Object.hasOwn(ownedProperties, name) ? ownedProperties[name] : undefined;
    if (reason !== undefined) throw invalidOption(`${option}.${name}`, `The option \`${option}\` must not set \`${name}\`: ${reason}.`);
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw invalidOption(`${option}.${name}`, `The option \`${option}\` has a property \`${name}\` that is no string, number or boolean.`);
    }
    resolved[name] = String(value);
  }
  return resolved;
}

function resolveDuration(option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 3_600_000) return value;
  throw invalidOption(option, `The option \`${option}\` must be a whole number of milliseconds from 100 to 3,600,000.`);
}

function resolveFlag(option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalidOption(option, `The option \`${option}\` must be true or false.`);
}

export function invalidOption(option: string, message: string, cause?: unknown): BrokerError {
  return new BrokerError({ code: 'OPTION_INVALID', kind: 'invalid', message, place: { option }, cause });
}
