/** The processors behind `process` and `processValues`: the runtime's context with stores and outputs by the names they were declared under. */
import { RecordRefusedError } from '../core/errors.js';
import { noHeaders, type StreamRecord } from '../core/record.js';
import { DelegatingContext } from '../topology/delegating-context.js';
import type { InitContext, Processor, ProcessorContext } from '../topology/processor.js';
import { untypedStore } from '../topology/store-definition.js';
import { type UntypedTopic, untypedTopic } from '../topology/topic.js';
import type {
  ForwardedRecord,
  ForwardOptions,
  OutgoingRecord,
  ProcessContext,
  ProcessOptions,
  ProcessValuesContext,
  ProcessValuesOptions,
  StoresByName,
  TopicsByName,
} from './options.js';

export function createProcess<K, V, S extends StoresByName, O extends TopicsByName, KR, R>(
  options: ProcessOptions<K, V, S, O, KR, R>,
): () => Processor<K, V, KR, R> {
  const { process, stores, outputs, punctuators = [] } = options;
  const contextOf = contexts(stores, outputs);
  const typed = (context: ProcessorContext<KR, R>, record: Origin): ProcessContext<S, O, KR, R> =>
    new RecordsContext(...contextOf(context), record) as unknown as ProcessContext<S, O, KR, R>;
  return () => ({
    init(context: InitContext<KR, R>) {
      for (const { intervalMs, type, run } of punctuators) {
        context.schedule(intervalMs, type, (timestampMs, own) => run(timestampMs, typed(own, { timestampMs, headers: noHeaders })));
      }
    },
    process: (record: StreamRecord<K, V>, context: ProcessorContext<KR, R>) => process(record, typed(context, record)),
  });
}

export function createProcessValues<K, V, S extends StoresByName, O extends TopicsByName, R>(
  options: ProcessValuesOptions<K, V, S, O, R>,
): () => Processor<K, V, K, R> {
  const { process, stores, outputs } = options;
  const contextOf = contexts(stores, outputs);
  const processor: Processor<K, V, K, R> = {
    process(record: StreamRecord<K, V>, context: ProcessorContext<K, R>) {
      const own = new ValuesContext(...contextOf(context), record);
      return process(record, own as unknown as ProcessValuesContext<S, O, R>);
    },
  };
  return () => processor;
}

/** A function that gives stores by the names under which they were declared. */
export function storesByName(stores: StoresByName): (context: Pick<ProcessorContext, 'store'>) => object {
  const Stores = storesClass(stores);
  return (context) => new Stores(context);
}

type Topics = ReadonlyMap<string, UntypedTopic>;
type Origin = Pick<StreamRecord<unknown, unknown>, 'timestampMs' | 'headers'>;

function contexts(
  stores: StoresByName | undefined,
  outputs: TopicsByName | undefined,
): (context: ProcessorContext) => readonly [context: ProcessorContext, stores: object, topics: Topics] {
  const storesOf = storesByName(stores ?? {});
  const topics: Topics = new Map(Object.entries(outputs ?? {}).map(([name, topic]) => [name, untypedTopic(topic)]));
  return (context) => [context, storesOf(context), topics];
}

/** A class with one getter for each store, so that a record that touches none pays for none. */
function storesClass(stores: StoresByName): new (context: Pick<ProcessorContext, 'store'>) => object {
  class Stores {
    // Private by name, so that a store may be called anything.
    readonly #context: Pick<ProcessorContext, 'store'>;
    constructor(context: Pick<ProcessorContext, 'store'>) {
      this.#context = context;
    }
    static contextOf(instance: Stores): Pick<ProcessorContext, 'store'> {
      return instance.#context;
    }
  }
  for (const [name, store] of Object.entries(stores)) {
    const definition = untypedStore(store);
    Object.defineProperty(Stores.prototype, name, {
      enumerable: true,
      get(this: Stores) {
        return Stores.contextOf(this).store<unknown>(definition);
      },
    });
  }
  return Stores;
}

class NamedContext extends DelegatingContext {
  constructor(
    context: ProcessorContext,
    readonly stores: object,
    private readonly topics: Topics,
    protected readonly origin: Origin,
  ) {
    super(context);
  }

  send(output: string, record: OutgoingRecord<unknown, unknown>): void {
    const topic = this.topics.get(output);
    if (topic === undefined) throw new TypeError(`There is no output "${output}"; declared are ${[...this.topics.keys()].join(', ')}.`);
    this.sendToTopic(topic, record.key, record.value, record);
  }
}

class RecordsContext extends NamedContext {
  forward({ key, value, timestampMs, headers }: ForwardedRecord<unknown, unknown>): void {
    const { origin } = this;
    checkTimestamp(timestampMs);
    this.context.forward({ key, value, timestampMs: timestampMs ?? origin.timestampMs, headers: headers ?? origin.headers });
  }
}

class ValuesContext extends NamedContext {
  forward(value: unknown, options: ForwardOptions = {}): void {
    const { key, timestampMs, headers } = this.origin as StreamRecord<unknown, unknown>;
    checkTimestamp(options.timestampMs);
    this.context.forward({ key, value, timestampMs: options.timestampMs ?? timestampMs, headers: options.headers ?? headers });
  }
}

/** Times before 1970 pass through as they come, but nobody means to make one: it is a difference that went wrong. */
function checkTimestamp(timestampMs: number | undefined): void {
  if (timestampMs === undefined || (Number.isSafeInteger(timestampMs) && timestampMs >= 0)) return;
  throw new RecordRefusedError(
    'TIMESTAMP_INVALID',
    `A record cannot be forwarded with the timestamp ${String(timestampMs)}: use whole milliseconds since the epoch, from 0 on.`,
  );
}
