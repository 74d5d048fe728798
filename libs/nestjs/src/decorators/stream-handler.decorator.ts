import { EventPattern } from '@nestjs/microservices';
import { type AnyStoreDefinition, type AnyTopic, InvalidConfigurationError, type StoreOf, type Topic } from '@tally/streams';
import type { StreamContext, StreamHandlerOptions } from '../interfaces/index.js';
import { defaultApplication, streamHandlerMetadata, transportId } from '../streams.constants.js';

export interface StreamHandlerMetadata {
  readonly topic: AnyTopic;
  readonly options: StreamHandlerOptions;
}

type StoresOf<S extends readonly AnyStoreDefinition[]> = { [I in keyof S]: StoreOf<S[I]> };

/** A method that takes the payload, the context and the stores, in this order; fewer parameters are fine. */
export type StreamHandlerMethod<K, V, S extends readonly AnyStoreDefinition[]> = (
  payload: V,
  context: StreamContext<K>,
  ...stores: StoresOf<S>
) => unknown;

/**
 * Makes a controller's method the handler of a topic's records. Guards, pipes, interceptors and filters apply as in any Nest handler;
 * what the handler writes and sends is committed together with the record's offset, or not at all.
 *
 * A tombstone's payload is null; it reaches handlers of topics whose value serde is `nullable()`.
 * @example
 * ```ts
 * @StreamHandler(payments, { stores: [balances] })
 * apply(@Payload() payment: Payment, @Ctx() ctx: StreamContext<string>, @Store(balances) store: KeyValueStore<string, bigint>) {}
 * ```
 */
export function StreamHandler<K, V, const S extends readonly AnyStoreDefinition[] = readonly []>(
  topic: Topic<K, V>,
  options: StreamHandlerOptions<S> = {},
) {
  return <H extends StreamHandlerMethod<K, V, S>>(target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<H>): void => {
    const method = descriptor.value;
    const place = `${target.constructor.name}.${String(key)}`;
    if (method === undefined)
      throw new InvalidConfigurationError('HANDLER_INVALID', `@StreamHandler on ${place} needs a method.`, { node: place });
    if (Reflect.hasMetadata(streamHandlerMetadata, method)) {
      throw new InvalidConfigurationError('HANDLER_INVALID', `${place} has two @StreamHandler decorators: one method handles one topic.`, {
        node: place,
      });
    }
    const metadata: StreamHandlerMetadata = { topic, options };
    Reflect.defineMetadata(streamHandlerMetadata, metadata, method);
    // Nest then lists the handler among its entry points and registers it with the application's transport, and with no other.
    const registerWithNest: MethodDecorator = EventPattern(
      `${topic.name} ${place}`,
      transportId(options.application ?? defaultApplication),
    ) as MethodDecorator;
    registerWithNest(target, key, descriptor);
  };
}
