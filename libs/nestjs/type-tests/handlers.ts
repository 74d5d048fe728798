/** What the compiler accepts and refuses of handlers. Compiled, never run. */
import { Controller } from '@nestjs/common';
import {
  type KeyValueStore,
  type QueryableStore,
  type QueryableWindowStore,
  type VersionedStore,
  type WindowStore,
  int64,
  json,
  keyValueStore,
  nullable,
  string,
  topic,
  versionedStore,
  windowStore,
} from '@tally/streams';
import {
  Ctx,
  InjectStore,
  Payload,
  Store,
  type StreamContext,
  StreamHandler,
  StreamsModule,
  type StreamsHealthIndicator,
  Topology,
  type StreamsTopology,
} from '@tally/nestjs';

interface Payment {
  readonly id: string;
  readonly amount: bigint;
}
interface Account {
  readonly owner: string;
}

const payments = topic('payments', { key: string(), value: json<Payment>() });
const removals = topic('removals', { key: string(), value: nullable(json<Payment>()) });
const postings = topic('postings', { key: string(), value: int64() });
const balances = keyValueStore('balances', { key: string(), value: int64() });
const accounts = keyValueStore('accounts', { key: string(), value: json<Account>() });

const perMinute = windowStore('per-minute', { key: string(), value: int64(), retentionMs: 60_000 });
const prices = versionedStore('prices', { key: string(), value: int64(), historyRetentionMs: 60_000 });

@Controller()
export class Accepted {
  constructor(
    @InjectStore(balances) readonly store: QueryableStore<string, bigint>,
    @InjectStore(perMinute) readonly minutes: QueryableWindowStore<string, bigint>,
  ) {}

  @StreamHandler(payments, { stores: [perMinute, prices] })
  windows(
    @Payload() payment: Payment,
    @Ctx() context: StreamContext<string>,
    @Store(perMinute) minutes: WindowStore<string, bigint>,
    @Store(prices) versions: VersionedStore<string, bigint>,
  ): void {
    minutes.put(context.key, payment.amount, context.timestampMs);
    versions.put(context.key, payment.amount, context.timestampMs);
    context.store(perMinute).fetch(context.key, 0, context.timestampMs);
    // @ts-expect-error the store holds bigint
    context.store(perMinute).put(context.key, 'text', 0);
  }

  @StreamHandler(payments, {
    stores: [balances, accounts],
    concurrency: { perTask: 8, orderedBy: 'key' },
    errors: { processing: { action: 'skip' } },
  })
  apply(
    @Payload() payment: Payment,
    @Ctx() context: StreamContext<string>,
    @Store(balances) store: KeyValueStore<string, bigint>,
    @Store(accounts) owners: KeyValueStore<string, Account>,
  ): void {
    store.put(context.key, (store.get(context.key) ?? 0n) + payment.amount);
    owners.put(context.key, { owner: payment.id });
    context.send(postings, context.key, payment.amount, { timestampMs: context.timestampMs });
    context.store(balances).put('a', 1n);
    // @ts-expect-error the topic holds bigint
    context.send(postings, context.key, 'text');
    // @ts-expect-error the topic's key is a string
    context.send(postings, 7, 1n);
    // @ts-expect-error the store holds bigint
    context.store(balances).put('a', 1);
    // @ts-expect-error rolling back is the module's business
    const rollback: keyof StreamContext = 'rollback';
    void rollback;
  }

  @StreamHandler(payments) fewer(@Payload() _payment: Payment): void {}
  @StreamHandler(payments) none(): void {}
  @StreamHandler(payments) async later(@Payload() payment: Payment): Promise<void> {
    await Promise.resolve(payment);
  }
  @StreamHandler(removals) tombstones(@Payload() _payment: Payment | null): void {}
}

@Controller()
export class Refused {
  // @ts-expect-error payload of another topic
  @StreamHandler(payments) payload(@Payload() _account: Account): void {}
  // @ts-expect-error a tombstone's payload is null
  @StreamHandler(removals) tombstone(@Payload() _payment: Payment): void {}
  // @ts-expect-error the topic's key is a string
  @StreamHandler(payments) key(@Payload() _payment: Payment, @Ctx() _context: StreamContext<number>): void {}
  // @ts-expect-error the store holds bigint
  @StreamHandler(payments, { stores: [balances] }) value(
    @Payload() _payment: Payment,
    @Ctx() _context: StreamContext<string>,
    @Store(balances) _store: KeyValueStore<string, number>,
  ): void {}
  // @ts-expect-error a store that the handler was not declared with
  @StreamHandler(payments) undeclared(
    @Payload() _payment: Payment,
    @Ctx() _context: StreamContext<string>,
    @Store(balances) _store: KeyValueStore<string, bigint>,
  ): void {}
  // @ts-expect-error a store of another kind
  @StreamHandler(payments, { stores: [perMinute] }) kind(
    @Payload() _payment: Payment,
    @Ctx() _context: StreamContext<string>,
    @Store(perMinute) _store: KeyValueStore<string, bigint>,
  ): void {}
  // @ts-expect-error no such option
  @StreamHandler(payments, { store: [balances] }) option(): void {}
  // @ts-expect-error a topic is a handle, not a name
  @StreamHandler('payments') name(): void {}
}

@Topology('totals')
export class Totals implements StreamsTopology {
  build(): void {}
}

// @ts-expect-error a topology builds
@Topology('nothing')
export class NoTopology {}

StreamsModule.forRoot({ applicationId: 'ledger', brokers: 'localhost:9092', stateDirectory: '/var/lib/ledger' });
// @ts-expect-error the application needs an id
StreamsModule.forRoot({ brokers: 'localhost:9092', stateDirectory: '/var/lib/ledger' });
// @ts-expect-error no such guarantee
StreamsModule.forRoot({ applicationId: 'ledger', brokers: 'localhost:9092', stateDirectory: '/x', guarantee: 'exactly_once' });
StreamsModule.forRootAsync({
  inject: ['id'],
  useFactory: (applicationId: string) => ({ applicationId, brokers: 'localhost:9092', stateDirectory: '/x' }),
});

export function health(indicator: StreamsHealthIndicator): 'up' | 'down' {
  return indicator.isReady('streams').streams.status;
}
