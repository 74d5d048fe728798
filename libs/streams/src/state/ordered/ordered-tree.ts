/**
 * A sorted map of bytes to bytes within a store, read and written by point reads alone: a small one is a single entry of the store, a large
 * one is a tree of entries of bounded size. So what belongs together is found without a range read of the database, and a write rewrites a
 * few small nodes, however much there is.
 *
 *   root       <- address
 *   other node <- address number:u32     (their bytes: node.ts)
 *
 * 1. No node but the root is empty. An emptied root stays as an empty leaf, until `removeEmpty`.
 * 2. A node is larger than `nodeBytesMax` only by its largest item.
 * 3. A tree object serves one call of a store, and knows the root from its first look on. Nothing else is kept, so a rollback of the entries
 *    below needs no word.
 */
import { assert } from '../../core/assert.js';
import { RecordRefusedError } from '../../core/errors.js';
import type { EntryAccess } from './entry-access.js';
import {
  childFor,
  childNode,
  compareKeyAt,
  emptyLeaf,
  firstNotLess,
  isLeaf,
  itemEnd,
  keyAt,
  lastNodeOf,
  middleOf,
  newLeaf,
  newNode,
  newRoot,
  nodeHeaderBytes,
  withChild,
  withEntry,
  withLastNode,
  withoutItem,
  withoutItems,
} from './node.js';
import { OrderedTreeReader } from './ordered-tree-reader.js';

export { OrderedTreeReader, type EntryVisitor, type TreeEntry } from './ordered-tree-reader.js';

/** Larger nodes make a write rewrite and log more; smaller ones make the tree deeper and reads of many entries slower. */
export const nodeBytesMax = 1024;

const keyBytesMax = 0xffff;

/** What became of a node: its bytes, the same array where they did not change, and the new node that took a part of it. */
interface Written {
  readonly node: Uint8Array;
  readonly split?: { readonly key: Uint8Array; readonly number: number };
}

export class OrderedTree extends OrderedTreeReader {
  /** While `put` runs. */
  private lastNode = 0;
  /** While `removeBefore` runs. */
  private leavesLeft = 0;

  constructor(
    private readonly entries: EntryAccess,
    address: string,
  ) {
    super(entries, address);
  }

  /**
   * @param expired entries whose keys are less are of no more use: those of a tree that is a single leaf are left out, since it is written anyway.
   * Not all of them in a larger tree.
   * @returns true when the tree did not exist before.
   * @throws RecordRefusedError `STORE_KEY_TOO_LONG`
   */
  put(key: Uint8Array, value: Uint8Array, expired?: Uint8Array): boolean {
    if (key.length > keyBytesMax) {
      throw new RecordRefusedError(
        'STORE_KEY_TOO_LONG',
        `A key of ${key.length} bytes is too long for this kind of store: ${keyBytesMax} at most.`,
      );
    }
    const root = this.root();
    if (root === undefined) {
      this.writeRoot(newLeaf(key, value));
      return true;
    }
    this.lastNode = lastNodeOf(root);
    const { node, split } = this.putIn(expired === undefined || !isLeaf(root) ? root : withoutLess(root, expired), key, value);
    if (split !== undefined) {
      const number = this.addNode(withLastNode(node, 0));
      this.writeRoot(withLastNode(newRoot(keyAt(node, nodeHeaderBytes), number, split.key, split.number), this.lastNode));
    } else if (node !== root || this.lastNode !== lastNodeOf(root)) {
      this.writeRoot(withLastNode(node, this.lastNode));
    }
    return false;
  }

  /** @returns whether there was such an entry. */
  remove(key: Uint8Array): boolean {
    const root = this.root();
    if (root === undefined || this.get(key) === undefined) return false;
    const node = this.removeIn(root, key);
    if (node !== root) this.writeRoot(node ?? emptyLeaf);
    return true;
  }

  /** Removes the entries whose keys are less, first ones first, in `leavesMax` leaves at most: so some may be left. */
  removeBefore(key: Uint8Array, leavesMax: number): void {
    const root = this.root();
    if (root === undefined) return;
    this.leavesLeft = leavesMax;
    const node = this.removeBeforeIn(root, key);
    if (node !== root) this.writeRoot(node ?? emptyLeaf);
  }

  /** Deletes the root of a tree without entries. */
  removeEmpty(): void {
    const root = this.root();
    if (root === undefined) return;
    assert(root.length === nodeHeaderBytes, 'an ordered tree that is removed is empty');
    this.writeRoot(null);
  }

  private putIn(node: Uint8Array, key: Uint8Array, value: Uint8Array): Written {
    if (isLeaf(node)) {
      const offset = firstNotLess(node, key);
      const replaces = offset < node.length && compareKeyAt(node, offset, key) === 0;
      const to = replaces ? itemEnd(node, offset) : offset;
      return this.cut(node, withEntry(node, offset, to, key, value), offset);
    }
    const offset = childFor(node, key);
    const number = childNode(node, offset);
    const child = this.node(number);
    const written = this.putIn(child, key, value);
    if (written.node !== child) this.writeNode(number, written.node);
    if (written.split === undefined) return { node };
    const behind = itemEnd(node, offset);
    return this.cut(node, withChild(node, behind, written.split.key, written.split.number), behind);
  }

  /** A node that has become too large gives a part to a new one: half, or only the new item where that is the last, for most keys grow. */
  private cut(before: Uint8Array, after: Uint8Array, changedAt: number): Written {
    const isOne = itemEnd(after, nodeHeaderBytes) === after.length;
    if (after.length <= nodeBytesMax || isOne) return { node: after };
    const appended = changedAt === before.length;
    const at = appended ? changedAt : middleOf(after);
    const tail = newNode(after[0]!, after.subarray(at));
    const node = appended ? before : withLastNode(newNode(after[0]!, after.subarray(nodeHeaderBytes, at)), lastNodeOf(before));
    return { node, split: { key: keyAt(tail, nodeHeaderBytes), number: this.addNode(tail) } };
  }

  /** The key is in the tree. @returns the node without it; the same array where only nodes below changed, undefined where nothing is left. */
  private removeIn(node: Uint8Array, key: Uint8Array): Uint8Array | undefined {
    if (isLeaf(node)) {
      const offset = firstNotLess(node, key);
      return nonEmpty(withoutItem(node, offset));
    }
    const offset = childFor(node, key);
    const number = childNode(node, offset);
    const child = this.node(number);
    return this.replaceChild(node, offset, number, child, this.removeIn(child, key));
  }

  private removeBeforeIn(node: Uint8Array, key: Uint8Array): Uint8Array | undefined {
    if (isLeaf(node)) {
      this.leavesLeft--;
      const left = withoutLess(node, key);
      return left === node ? node : nonEmpty(left);
    }
    let left: Uint8Array | undefined = node;
    while (left !== undefined && this.leavesLeft > 0) {
      const number = childNode(left, nodeHeaderBytes);
      const child = this.node(number);
      const remaining = this.removeBeforeIn(child, key);
      left = this.replaceChild(left, nodeHeaderBytes, number, child, remaining);
      if (remaining !== undefined) break;
    }
    return left;
  }

  private replaceChild(
    node: Uint8Array,
    offset: number,
    number: number,
    child: Uint8Array,
    remaining: Uint8Array | undefined,
  ): Uint8Array | undefined {
    if (remaining !== child) this.writeNode(number, remaining ?? null);
    return remaining === undefined ? nonEmpty(withoutItem(node, offset)) : node;
  }

  private addNode(node: Uint8Array): number {
    this.lastNode++;
    this.writeNode(this.lastNode, node);
    return this.lastNode;
  }

  private writeNode(number: number, node: Uint8Array | null): void {
    this.entries.putEntry(this.nodeAddress(number), node);
  }

  private writeRoot(node: Uint8Array | null): void {
    this.rootIs(node ?? undefined);
    this.entries.putEntry(this.address, node);
  }
}

/** The leaf without the entries whose keys are less; the same array where there are none. */
function withoutLess(leaf: Uint8Array, key: Uint8Array): Uint8Array {
  const offset = firstNotLess(leaf, key);
  return offset === nodeHeaderBytes ? leaf : withoutItems(leaf, nodeHeaderBytes, offset);
}

function nonEmpty(node: Uint8Array): Uint8Array | undefined {
  return node.length === nodeHeaderBytes ? undefined : node;
}
