/**
 * A TCP proxy in front of a broker that understands enough of Kafka's protocol to lose exactly one kind of request, or the answers to it.
 *
 *     frame   := size:int32 body
 *     request := apiKey:int16 apiVersion:int16 correlationId:int32 clientId:nullableString ...
 *     answer  := correlationId:int32 ...
 *
 * Clients learn the broker's address from answers (Metadata, FindCoordinator, DescribeCluster); there the proxy puts its own port in the
 * place of the broker's, so that every connection leads through it and any broker will do.
 */
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

export const apiKeys = {
  produce: 0,
  fetch: 1,
  metadata: 3,
  findCoordinator: 10,
  initProducerId: 22,
  addPartitionsToTxn: 24,
  addOffsetsToTxn: 25,
  endTxn: 26,
  txnOffsetCommit: 28,
  describeCluster: 60,
  consumerGroupHeartbeat: 68,
} as const;

export type ApiName = keyof typeof apiKeys;

export interface ProxiedRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly clientId: string;
  /** Of an EndTxn request: whether it asks for a commit. */
  readonly isCommit: boolean;
}

/**
 * What becomes of a connection on which something was lost. `cut`: it is closed at once, and the client may come back. `silent`: it stays
 * open and nothing passes any more in that direction, until the fault is healed; then it is closed.
 */
export type LossMode = 'cut' | 'silent';

interface Choice {
  readonly api: ApiName;
  /** How often it happens at most. Default: until it is healed. */
  readonly timesMax?: number;
  readonly only?: (request: ProxiedRequest) => boolean;
}

export interface LossOptions extends Choice {
  /** `answer`: the request has reached the broker, and what it did there stands. */
  readonly lose: 'request' | 'answer';
  readonly mode: LossMode;
}

export interface ChangeOptions extends Choice {
  /** Changes the bytes of an answer, its size included, in place. What the broker did stands. */
  readonly change: (answer: Buffer, apiVersion: number) => void;
}

export interface Fault {
  /** How many requests or answers were lost or changed. */
  readonly fired: number;
  /** Resolves when the first one was. */
  readonly firing: Promise<void>;
  /** Nothing more is lost or changed, and connections that had become silent are closed. */
  heal(): void;
}

const addressedAnswers: ReadonlySet<number> = new Set([apiKeys.metadata, apiKeys.findCoordinator, apiKeys.describeCluster]);
const host = '127.0.0.1';

export class BrokerProxy {
  /** How many connections there have been. */
  connections = 0;
  /** How often the broker's address was replaced by the proxy's in an answer. */
  addressesReplaced = 0;
  #leftPort: number | undefined;
  readonly #links = new Set<Link>();
  readonly #faults = new Set<ArmedFault>();

  private constructor(
    private readonly server: Server,
    readonly brokerHost: string,
    readonly brokerPort: number,
  ) {}

  /** @param broker address of one broker, `host:port`, as it tells it to clients */
  static async start(broker: string): Promise<BrokerProxy> {
    const [brokerHost = '', brokerPort = ''] = broker.split(':');
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, host, resolve);
    });
    const proxy = new BrokerProxy(server, brokerHost, Number(brokerPort));
    server.on('connection', (client) => proxy.#accept(client));
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** For clients, in the place of the broker's own address. */
  get address(): string {
    return `${host}:${this.port}`;
  }

  lose(options: LossOptions): Fault {
    return this.#arm(options);
  }

  change(options: ChangeOptions): Fault {
    return this.#arm(options);
  }

  #arm(options: LossOptions | ChangeOptions): Fault {
    const fault: ArmedFault = new ArmedFault(options, () => {
      this.#faults.delete(fault);
      for (const link of this.#links) if (link.silencedBy === fault) link.close();
    });
    this.#faults.add(fault);
    return fault;
  }

  /** Closes every connection, and its port too: whoever comes is refused, as by a machine on which no broker runs. */
  async leave(): Promise<void> {
    const { port } = this;
    this.#leftPort = port;
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    this.cutAll();
    await closed;
  }

  /** Listens again where it did. */
  async comeBack(): Promise<void> {
    const port = this.#leftPort;
    this.#leftPort = undefined;
    await new Promise<void>((resolve) => {
      this.server.listen(port, host, resolve);
    });
  }

  /** Closes every connection at once; clients may come back. */
  cutAll(): void {
    for (const link of this.#links) link.close();
  }

  async close(): Promise<void> {
    this.cutAll();
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }

  faultFor(request: ProxiedRequest, lose: 'request' | 'answer'): ArmedFault | undefined {
    for (const fault of this.#faults) if (fault.strikes === lose && fault.takes(request)) return fault;
    return undefined;
  }

  /** Puts the proxy's port behind each mention of the broker's host and port; the length stays. */
  redirect(answer: Buffer): void {
    for (const name of new Set([this.brokerHost, host, 'localhost'])) {
      const address = Buffer.alloc(name.length + 4);
      address.write(name, 'latin1');
      address.writeInt32BE(this.brokerPort, name.length);
      for (let at = answer.indexOf(address); at >= 0; at = answer.indexOf(address, at + 1)) {
        answer.writeInt32BE(this.port, at + name.length);
        this.addressesReplaced++;
      }
    }
  }

  #accept(client: Socket): void {
    this.connections++;
    const link: Link = new Link(this, client, connect(this.brokerPort, this.brokerHost), () => this.#links.delete(link));
    this.#links.add(link);
  }
}

class ArmedFault implements Fault {
  fired = 0;
  readonly firing: Promise<void>;
  #fire: () => void = () => {};

  constructor(
    readonly options: LossOptions | ChangeOptions,
    readonly heal: () => void,
  ) {
    this.firing = new Promise((resolve) => {
      this.#fire = resolve;
    });
  }

  get strikes(): 'request' | 'answer' {
    return 'lose' in this.options ? this.options.lose : 'answer';
  }

  takes(request: ProxiedRequest): boolean {
    const { api, timesMax = Number.POSITIVE_INFINITY, only } = this.options;
    return request.apiKey === apiKeys[api] && this.fired < timesMax && (only === undefined || only(request));
  }

  fire(): void {
    this.fired++;
    this.#fire();
  }
}

/** One client's connection and its counterpart at the broker. */
class Link {
  silencedBy: ArmedFault | undefined;
  #closed = false;
  readonly #waiting = new Map<number, ProxiedRequest>();

  constructor(
    private readonly proxy: BrokerProxy,
    private readonly client: Socket,
    private readonly broker: Socket,
    private readonly onClose: () => void,
  ) {
    for (const socket of [client, broker]) {
      socket.setNoDelay(true);
      socket.on('error', () => this.close());
      socket.on('close', () => this.close());
    }
    const requests = new FrameReader((frame) => this.#request(frame));
    const answers = new FrameReader((frame) => this.#answer(frame));
    client.on('data', (chunk: Buffer) => requests.push(chunk));
    broker.on('data', (chunk: Buffer) => answers.push(chunk));
    // A slow reader on one side holds up the other, as without the proxy.
    client.on('drain', () => broker.resume());
    broker.on('drain', () => client.resume());
  }

  close(): void {
    this.#closed = true;
    this.client.destroy();
    this.broker.destroy();
    this.onClose();
  }

  #request(frame: Buffer): void {
    if (this.#closed || this.silencedBy?.strikes === 'request') return;
    const request = parseRequest(frame);
    const fault = this.proxy.faultFor(request, 'request');
    if (fault !== undefined && 'lose' in fault.options) {
      this.#lost(fault, fault.options.mode);
      return;
    }
    this.#waiting.set(frame.readInt32BE(8), request);
    if (!this.broker.write(frame)) this.client.pause();
  }

  #answer(frame: Buffer): void {
    const correlationId = frame.readInt32BE(4);
    const request = this.#waiting.get(correlationId);
    this.#waiting.delete(correlationId);
    if (this.#closed || this.silencedBy?.strikes === 'answer') return;
    const fault = request === undefined ? undefined : this.proxy.faultFor(request, 'answer');
    if (fault !== undefined && 'lose' in fault.options) {
      this.#lost(fault, fault.options.mode);
      return;
    }
    if (fault !== undefined && request !== undefined && 'change' in fault.options) {
      fault.options.change(frame, request.apiVersion);
      fault.fire();
    }
    if (request !== undefined && addressedAnswers.has(request.apiKey)) this.proxy.redirect(frame);
    if (!this.client.write(frame)) this.broker.pause();
  }

  #lost(fault: ArmedFault, mode: LossMode): void {
    if (mode === 'silent') this.silencedBy = fault;
    else this.close();
    fault.fire();
  }
}

/** Cuts a stream of bytes into frames, size included. */
class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(private readonly onFrame: (frame: Buffer) => void) {}

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    for (let size = this.#nextSize(); size !== undefined && this.#length >= size; size = this.#nextSize()) {
      const all = Buffer.concat(this.#chunks);
      const rest = all.subarray(size);
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#length = rest.length;
      this.onFrame(all.subarray(0, size));
    }
  }

  #nextSize(): number | undefined {
    if (this.#length < 4) return undefined;
    const [first] = this.#chunks;
    const head = first !== undefined && first.length >= 4 ? first : Buffer.concat(this.#chunks);
    return 4 + head.readInt32BE(0);
  }
}

/** EndTxn requests end with the decision; from version 3 on an empty list of tagged fields follows. */
const endTxnTagged = 3;

function parseRequest(frame: Buffer): ProxiedRequest {
  const apiKey = frame.readInt16BE(4);
  const apiVersion = frame.readInt16BE(6);
  const clientIdLength = frame.readInt16BE(12);
  const decision = frame[frame.length - (apiVersion >= endTxnTagged ? 2 : 1)];
  return {
    apiKey,
    apiVersion,
    clientId: clientIdLength < 0 ? '' : frame.toString('utf8', 14, 14 + clientIdLength),
    isCommit: apiKey === apiKeys.endTxn && decision === 1,
  };
}
