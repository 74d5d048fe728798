/** Joins a stream with a global table: each record with the row under a key that is made of it. */
import type { StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';
import type { KeyValueStoreDefinition } from '../topology/store-definition.js';
import type { ProcessorFactory } from './stateless.js';

export interface GlobalJoin<K, V, KT, VT, R> {
  /** The row's key; null for none. */
  readonly keyOf: (value: V, key: K) => KT | null;
  readonly join: (value: V, row: VT | null, key: K) => R;
  /** Records without a row are joined with null, instead of being passed over. */
  readonly isLeft: boolean;
}

/** Only the stream's records make results; they keep key, timestamp and headers, and the key may be null. */
export function streamGlobalJoin<K, V, KT, VT, R>(
  store: KeyValueStoreDefinition<KT, VT>,
  { keyOf, join, isLeft }: GlobalJoin<K, NonNullable<V>, KT, VT, R>,
): ProcessorFactory<K, V, K, R> {
  const processor: Processor<K, V, K, R> = {
    process({ key, value, timestampMs, headers }: StreamRecord<K, V>, context: ProcessorContext<K, R>) {
      if (value === null || value === undefined) {
        context.drop('nullValue');
        return;
      }
      const rowKey = keyOf(value, key);
      if (rowKey === null && !isLeft) {
        context.drop('nullKey');
        return;
      }
      const row = rowKey === null ? undefined : context.store(store).get(rowKey);
      if (row !== undefined || isLeft) context.forward({ key, value: join(value, row ?? null, key), timestampMs, headers });
    },
  };
  return () => processor;
}
