/** Operators without state. A processor without state serves every task, so each factory makes one and hands it out again. */
import type { Change, StreamRecord } from '../core/record.js';
import type { Processor, ProcessorContext } from '../topology/processor.js';

export type ProcessorFactory<KIn, VIn, KOut, VOut> = () => Processor<KIn, VIn, KOut, VOut>;

/** A processor that keeps nothing between two records. */
export function stateless<KIn, VIn, KOut, VOut>(
  process: (record: StreamRecord<KIn, VIn>, context: ProcessorContext<KOut, VOut>) => void,
): ProcessorFactory<KIn, VIn, KOut, VOut> {
  const processor: Processor<KIn, VIn, KOut, VOut> = { process };
  return () => processor;
}

/** Lets through the records for which the predicate holds. */
export function filterOperator<K, V>(predicate: (value: V, key: K) => boolean): ProcessorFactory<K, V, K, V> {
  return stateless((record, context) => {
    if (predicate(record.value, record.key)) context.forward(record);
  });
}

/** Replaces the value. */
export function mapOperator<K, V, R>(mapper: (value: V, key: K) => R): ProcessorFactory<K, V, K, R> {
  return stateless((record, context) => {
    const { key, timestampMs, headers } = record;
    context.forward({ key, value: mapper(record.value, key), timestampMs, headers });
  });
}

/** Replaces key and value. */
export function mapRecordOperator<K, V, KR, R>(mapper: (value: V, key: K) => readonly [KR, R]): ProcessorFactory<K, V, KR, R> {
  return stateless((record, context) => {
    const [key, value] = mapper(record.value, record.key);
    context.forward({ key, value, timestampMs: record.timestampMs, headers: record.headers });
  });
}

/** One record for each value that the mapper gives. */
export function flatMapOperator<K, V, R>(mapper: (value: V, key: K) => Iterable<R>): ProcessorFactory<K, V, K, R> {
  return stateless((record, context) => {
    const { key, timestampMs, headers } = record;
    for (const value of mapper(record.value, key)) context.forward({ key, value, timestampMs, headers });
  });
}

/** One record for each pair of key and value that the mapper gives. */
export function flatMapRecordOperator<K, V, KR, R>(
  mapper: (value: V, key: K) => Iterable<readonly [KR, R]>,
): ProcessorFactory<K, V, KR, R> {
  return stateless((record, context) => {
    const { timestampMs, headers } = record;
    for (const [key, value] of mapper(record.value, record.key)) context.forward({ key, value, timestampMs, headers });
  });
}

/** Replaces the key. */
export function selectKeyOperator<K, V, KR>(selector: (value: V, key: K) => KR): ProcessorFactory<K, V, KR, V> {
  return stateless((record, context) => {
    const { value, timestampMs, headers } = record;
    context.forward({ key: selector(value, record.key), value, timestampMs, headers });
  });
}

/** Shows each record to the callback and passes it on. */
export function peekOperator<K, V>(callback: (value: V, key: K) => void): ProcessorFactory<K, V, K, V> {
  return stateless((record, context) => {
    callback(record.value, record.key);
    context.forward(record);
  });
}

/** Shows each record to the callback; the end of its chain. */
export function forEachOperator<K, V>(callback: (value: V, key: K) => void): ProcessorFactory<K, V, never, never> {
  return stateless((record) => {
    callback(record.value, record.key);
  });
}

/** Passes all records on: where chains meet or part. */
export function passOperator<K, V>(): ProcessorFactory<K, V, K, V> {
  return stateless((record, context) => context.forward(record));
}

/** Sends each record to the first child whose predicate holds, else to the last one. */
export function splitOperator<K, V>(
  branches: readonly { readonly child: string; readonly predicate: (value: V, key: K) => boolean }[],
  rest: string,
): ProcessorFactory<K, V, K, V> {
  return stateless((record, context) => {
    for (const { child, predicate } of branches) {
      if (!predicate(record.value, record.key)) continue;
      context.forward(record, child);
      return;
    }
    context.forward(record, rest);
  });
}

/** Lets through the records that have a key: the others have no partition, so they cannot meet. */
export function requireKeyOperator<K, V>(): ProcessorFactory<K, V, NonNullable<K>, V> {
  return stateless((record, context) => {
    const { key, value, timestampMs, headers } = record;
    if (key !== null && key !== undefined) context.forward({ key, value, timestampMs, headers });
  });
}

/** A table's changes as a stream of its new rows; null where a row is gone. */
export function toStreamOperator<K, V>(): ProcessorFactory<K, Change<V>, K, V | null> {
  return stateless((record, context) => {
    const { key, timestampMs, headers } = record;
    context.forward({ key, value: record.value.newValue, timestampMs, headers });
  });
}
