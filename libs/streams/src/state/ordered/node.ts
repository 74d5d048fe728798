/**
 * The nodes of an ordered tree as bytes. Integers are big-endian.
 *
 *   node     := leaf | inner
 *   leaf     := 0x01 lastNode entry*
 *   inner    := 0x02 lastNode child child*
 *   entry    := keyBytes:u16 valueBytes:u32 key value
 *   child    := keyBytes:u16 node:u32       key
 *   lastNode := u32; in the root the largest number that a node has had since the tree was last empty, elsewhere 0
 *
 * Entries and children are sorted by their keys, byte by byte. A child holds what is not less than its own key and less than the next
 * child's; the first one also what is less than its key. The first byte says the layout too: another one takes another number.
 */
import { readWord, writeWord } from '../../core/sortable.js';

export const leafKind = 0x01;
export const innerKind = 0x02;

export const nodeHeaderBytes = 5;
const itemHeaderBytes = 6;

export function isLeaf(node: Uint8Array): boolean {
  return node[0] === leafKind;
}

export function lastNodeOf(root: Uint8Array): number {
  return readWord(root, 1);
}

/** The node with another `lastNode`; the same array where it has it already. */
export function withLastNode(node: Uint8Array, lastNode: number): Uint8Array {
  if (lastNodeOf(node) === lastNode) return node;
  const copy = Buffer.allocUnsafe(node.byteLength);
  copy.set(node);
  writeWord(copy, 1, lastNode);
  return copy;
}

// ---- items: entries of a leaf, children of an inner node -----------------------------------------------------------------------------

export function keyStart(offset: number): number {
  return offset + itemHeaderBytes;
}

export function keyEnd(node: Uint8Array, offset: number): number {
  return offset + itemHeaderBytes + ((node[offset]! << 8) | node[offset + 1]!);
}

/** Number of the node that a child of an inner node is. */
export function childNode(node: Uint8Array, offset: number): number {
  return readWord(node, offset + 2);
}

/** Where the item ends, and the next one begins. */
export function itemEnd(node: Uint8Array, offset: number): number {
  const end = keyEnd(node, offset);
  return node[0] === leafKind ? end + readWord(node, offset + 2) : end;
}

export function keyAt(node: Uint8Array, offset: number): Uint8Array {
  return node.subarray(keyStart(offset), keyEnd(node, offset));
}

export function compareKeyAt(node: Uint8Array, offset: number, key: Uint8Array): number {
  const start = keyStart(offset);
  const length = keyEnd(node, offset) - start;
  const common = Math.min(length, key.length);
  for (let index = 0; index < common; index++) {
    const difference = node[start + index]! - key[index]!;
    if (difference !== 0) return difference;
  }
  return length - key.length;
}

/** Offset of the first item whose key is not less; the node's end where all are. */
export function firstNotLess(node: Uint8Array, key: Uint8Array): number {
  let offset = nodeHeaderBytes;
  while (offset < node.length && compareKeyAt(node, offset, key) < 0) offset = itemEnd(node, offset);
  return offset;
}

/** Offset of the last item whose key is not greater; -1 where all are. */
export function lastNotGreater(node: Uint8Array, key: Uint8Array): number {
  let found = -1;
  let offset = nodeHeaderBytes;
  while (offset < node.length && compareKeyAt(node, offset, key) <= 0) {
    found = offset;
    offset = itemEnd(node, offset);
  }
  return found;
}

/** Offset of the child of an inner node that holds the key, if one does. What is less than all other children's keys is the first one's. */
export function childFor(node: Uint8Array, key: Uint8Array): number {
  let found = nodeHeaderBytes;
  let offset = itemEnd(node, nodeHeaderBytes);
  while (offset < node.length && compareKeyAt(node, offset, key) <= 0) {
    found = offset;
    offset = itemEnd(node, offset);
  }
  return found;
}

/** Offset of the item before the one at the offset; -1 for the first. */
export function itemBefore(node: Uint8Array, before: number): number {
  let found = -1;
  for (let offset = nodeHeaderBytes; offset < before; offset = itemEnd(node, offset)) found = offset;
  return found;
}

// ---- making nodes: always new arrays ---------------------------------------------------------------------------------------------------

/** A node of the items that are given one behind the other. */
export function newNode(kind: number, items: Uint8Array): Buffer {
  const node = Buffer.allocUnsafe(nodeHeaderBytes + items.length);
  node[0] = kind;
  writeWord(node, 1, 0);
  node.set(items, nodeHeaderBytes);
  return node;
}

const nothing = new Uint8Array(0);
export const emptyLeaf: Uint8Array = newNode(leafKind, nothing);
const emptyInner = newNode(innerKind, nothing);

/** The root above two nodes. */
export function newRoot(firstKey: Uint8Array, first: number, secondKey: Uint8Array, second: number): Buffer {
  const one = withChild(emptyInner, nodeHeaderBytes, firstKey, first);
  return withChild(one, one.length, secondKey, second);
}

export function newLeaf(key: Uint8Array, value: Uint8Array): Buffer {
  return withEntry(emptyLeaf, nodeHeaderBytes, nodeHeaderBytes, key, value);
}

/** The leaf with the bytes from `from` to `to`, one entry or none, replaced by an entry. */
export function withEntry(leaf: Uint8Array, from: number, to: number, key: Uint8Array, value: Uint8Array): Buffer {
  return withItem(leaf, from, to, key, value.length, value);
}

/** The inner node with a child before the one at the offset. */
export function withChild(node: Uint8Array, offset: number, key: Uint8Array, number: number): Buffer {
  return withItem(node, offset, offset, key, number, nothing);
}

/** The node without the item at the offset. */
export function withoutItem(node: Uint8Array, offset: number): Buffer {
  return withoutItems(node, offset, itemEnd(node, offset));
}

export function withoutItems(node: Uint8Array, from: number, to: number): Buffer {
  const result = Buffer.allocUnsafe(node.length - (to - from));
  result.set(node.subarray(0, from), 0);
  if (to < node.length) result.set(node.subarray(to), from);
  return result;
}

/** Written in place, without arrays for the parts: every write of a store comes by here. */
function withItem(node: Uint8Array, from: number, to: number, key: Uint8Array, word: number, value: Uint8Array): Buffer {
  const itemBytes = itemHeaderBytes + key.length + value.length;
  const result = Buffer.allocUnsafe(node.length - (to - from) + itemBytes);
  if (result.length >= node.length) {
    result.set(node, 0);
    if (to < node.length) result.copyWithin(from + itemBytes, to, node.length);
  } else {
    result.set(node.subarray(0, from), 0);
    result.set(node.subarray(to), from + itemBytes);
  }
  result[from] = key.length >>> 8;
  result[from + 1] = key.length & 0xff;
  writeWord(result, from + 2, word);
  result.set(key, keyStart(from));
  if (value.length > 0) result.set(value, keyStart(from) + key.length);
  return result;
}

/** Where to cut a node that is too large: at the item next to its middle, so that neither part is empty. */
export function middleOf(node: Uint8Array): number {
  const second = itemEnd(node, nodeHeaderBytes);
  let offset = second;
  while (offset < node.length >>> 1) {
    const end = itemEnd(node, offset);
    if (end >= node.length) break;
    offset = end;
  }
  return offset;
}
