import type { Serde } from './serde.js';

/** Whether two keys are one to Kafka: values that are serialized alike. */
export function isSameKey<K>(serde: Serde<K>, left: K, right: K): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object') return false;
  const leftBytes = serde.serialize(left);
  const rightBytes = serde.serialize(right);
  return leftBytes !== null && rightBytes !== null && Buffer.compare(leftBytes, rightBytes) === 0;
}
