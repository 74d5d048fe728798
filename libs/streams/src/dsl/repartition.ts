/** Sends records through an internal topic, so that those of one key meet in one task. */
import { requireKeyOperator } from '../operators/index.js';
import { bytes } from '../serde/bytes.js';
import { nullable, withoutNull } from '../serde/nullable.js';
import type { AnySerde, Serde } from '../serde/serde.js';
import type { NodeHandle } from '../topology/handles.js';
import type { Position } from './scope.js';

export interface RepartitionSettings {
  readonly name: string;
  readonly key: AnySerde | undefined;
  readonly value: AnySerde | undefined;
  readonly partitions?: number | undefined;
}

/** Sends records through a topic, those without a key too: any partition is theirs. */
export function repartitionAll<K, V>(at: Position<K, V>, { key, ...settings }: RepartitionSettings): NodeHandle<K, V> {
  return throughTopic(at, at.node, { ...settings, key: key === undefined ? undefined : nullable(key as Serde<unknown>) });
}

/**
 * Records without a key stay behind: no partition is theirs.
 * @returns where the others come back. What lacks a serde is reported, and fails `build()`.
 */
export function repartition<K, V>(at: Position<K, V>, settings: RepartitionSettings): NodeHandle<NonNullable<K>, V> {
  const { topology } = at.scope;
  const name = at.scope.free(`${settings.name}-repartition-keyed`);
  const keyed = topology.processor<K, V, NonNullable<K>, V>(at.node, { name, create: requireKeyOperator<K, V>() });
  return throughTopic(at, keyed, { ...settings, key: settings.key === undefined ? undefined : withoutNull(settings.key) });
}

/** For records that all have a key. */
export function throughTopic<K, V>(
  { scope }: Pick<Position<unknown, unknown>, 'scope'>,
  parent: NodeHandle<K, V>,
  { name, key, value, partitions }: RepartitionSettings,
): NodeHandle<K, V> {
  const reason = 'its records pass through a repartition topic';
  if (key === undefined) scope.reportMissingSerde(name, 'key', reason);
  if (value === undefined) scope.reportMissingSerde(name, 'value', reason);
  return scope.topology.repartition<K, V>(parent, {
    name,
    // Without a serde build() fails, so no record ever meets the one in its place.
    key: (key ?? bytes()) as Serde<K>,
    value: (value ?? bytes()) as Serde<V>,
    ...(partitions === undefined ? {} : { partitions }),
  });
}
