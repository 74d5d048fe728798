/**
 * Whether the brokers can do what Tally needs. The client has no call for it, but its log (context `feature`) lists the requests that
 * each broker supports when it connects, whatever the security settings are.
 */
import { BrokerError } from '@tally/streams';

/** Version 1 came with Kafka 4.0; 3.7 to 3.9 know a preview, version 0. */
const heartbeatVersionNeeded = 1;

interface Listing {
  /** Highest version of the group heartbeat; -1 while none was listed. */
  heartbeat: number;
  complete: boolean;
}

export class BrokerSupport {
  /** One per connection, by the thread that logs it: the lines of several connections may interleave. */
  readonly #listings = new Map<string, Listing>();

  /** Takes lines like `[thrd:a:9092/1]: a:9092/1:   ApiKey ConsumerGroupHeartbeat (68) Versions 0..1` from the client's log. */
  line(facility: string, message: string): void {
    if (facility !== 'APIVERSION') return;
    const thread = /^\[thrd:(.*?)\]/.exec(message)?.[1] ?? '';
    if (message.includes('Broker API support')) this.#listings.set(thread, { heartbeat: -1, complete: false });
    const listing = this.#listings.get(thread);
    if (listing === undefined) return;
    const version = / ApiKey \S+ \(68\) Versions \d+\.\.(\d+)/.exec(message)?.[1];
    if (version !== undefined) listing.heartbeat = Number(version);
    // What the client makes of the list follows the list.
    if (/ Feature \S+: | feature /.test(message)) listing.complete = true;
  }

  /** Whether a broker has said what it supports. */
  get known(): boolean {
    return this.#complete().length > 0;
  }

  /** @throws BrokerError of kind `invalid` when one of the brokers is too old. */
  check(brokers: string): void {
    const worst = Math.min(...this.#complete().map((listing) => listing.heartbeat), Number.POSITIVE_INFINITY);
    if (worst >= heartbeatVersionNeeded) return;
    const found = worst < 0 ? 'does not support the new consumer group protocol (KIP-848)' : 'supports only its preview';
    throw new BrokerError({
      code: 'UNSUPPORTED_BROKER',
      kind: 'invalid',
      message: `A broker of ${brokers} ${found}. Tally needs Kafka 4.0 or newer, with the feature \`group.version\` at 1.`,
      place: { option: 'brokers' },
    });
  }

  #complete(): Listing[] {
    return [...this.#listings.values()].filter((listing) => listing.complete);
  }
}
