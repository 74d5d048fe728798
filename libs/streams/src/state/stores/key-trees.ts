/**
 * Stores that keep an ordered tree for each key:
 *
 *   tree at 0x01 escapedKey       (sortable.ts; its nodes lie behind the root, before the next key)
 */
import { escapedKey, escapedKeyBytes, unescapedKey } from '../../core/sortable.js';
import type { KeyValueCodec } from '../key-value-codec.js';
import { dataKind } from '../layout.js';
import { mapKeyOf } from '../map-key.js';
import { OrderedTreeReader } from '../ordered/ordered-tree.js';

/** The tree of a key. */
export interface KeyPlace {
  readonly serializedKey: Uint8Array;
  /** Map key of the tree's root. */
  readonly address: string;
}

export function placeOf(serializedKey: Uint8Array): KeyPlace {
  return { serializedKey, address: mapKeyOf(escapedKey(dataKind, serializedKey)) };
}

/** Finds the trees of keys. Most keys are read and then written: the last one is remembered. */
export class KeyPlaces<K> {
  private lastKey: K | undefined;
  private lastPlace: KeyPlace | undefined;

  constructor(private readonly codec: Pick<KeyValueCodec<K, unknown>, 'serializeKey'>) {}

  /** Throws as `KeyValueCodec.serializeKey`. */
  of(key: K): KeyPlace {
    // Objects are the caller's: the same one may hold something else by now.
    if (this.lastPlace !== undefined && Object.is(key, this.lastKey) && typeof key !== 'object') return this.lastPlace;
    const place = placeOf(this.codec.serializeKey(key));
    this.lastKey = key;
    this.lastPlace = place;
    return place;
  }
}

export interface KeyTree {
  readonly serializedKey: Uint8Array;
  readonly tree: OrderedTreeReader;
}

/** The trees that a range of entries holds, in the order of their keys. Each is read from what the range gave, whatever is written meanwhile. */
export async function* keyTrees(entries: AsyncIterable<readonly [Uint8Array, Uint8Array]>): AsyncGenerator<KeyTree, void> {
  let root: Uint8Array | undefined;
  let nodes = new Map<string, Uint8Array>();
  for await (const [key, node] of entries) {
    const rootBytes = 1 + escapedKeyBytes(key, 1);
    if (key.length === rootBytes) {
      if (root !== undefined) yield keyTree(root, nodes);
      root = key;
      nodes = new Map();
    }
    nodes.set(mapKeyOf(key), node);
  }
  if (root !== undefined) yield keyTree(root, nodes);
}

function keyTree(root: Uint8Array, nodes: ReadonlyMap<string, Uint8Array>): KeyTree {
  const address = mapKeyOf(root);
  return {
    serializedKey: unescapedKey(root, 1, root.length - 1),
    tree: new OrderedTreeReader({ getEntry: (mapKey) => nodes.get(mapKey) }, address),
  };
}
