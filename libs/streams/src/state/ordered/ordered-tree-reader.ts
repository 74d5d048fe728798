import { assert } from '../../core/assert.js';
import { extendMapKey } from '../map-key.js';
import type { EntryReader } from './entry-access.js';
import {
  childFor,
  childNode,
  compareKeyAt,
  firstNotLess,
  isLeaf,
  itemBefore,
  itemEnd,
  keyAt,
  keyEnd,
  keyStart,
  lastNotGreater,
  nodeHeaderBytes,
} from './node.js';

export interface TreeEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Gets the bytes of a leaf, and where a key and its value lie in them. Returns false to see no more. */
export type EntryVisitor = (leaf: Uint8Array, keyStart: number, valueStart: number, valueEnd: number) => boolean | void;

/** The reading half of an ordered tree; see ordered-tree.ts. Keys and values that it gives lie in the store's bytes: never modify them. */
export class OrderedTreeReader {
  private knownRoot: Uint8Array | undefined;
  private isRootKnown = false;

  constructor(
    private readonly reader: EntryReader,
    /** Map key of the root. */
    protected readonly address: string,
  ) {}

  get(key: Uint8Array): Uint8Array | undefined {
    let node = this.root();
    while (node !== undefined && !isLeaf(node)) node = this.node(childNode(node, childFor(node, key)));
    if (node === undefined) return undefined;
    const offset = firstNotLess(node, key);
    return offset < node.length && compareKeyAt(node, offset, key) === 0 ? entryAt(node, offset).value : undefined;
  }

  /** The last entry whose key is not greater. */
  floor(key: Uint8Array): TreeEntry | undefined {
    const root = this.root();
    return root === undefined ? undefined : this.floorIn(root, key);
  }

  first(): TreeEntry | undefined {
    let node = this.root();
    while (node !== undefined && !isLeaf(node)) node = this.node(childNode(node, nodeHeaderBytes));
    return node === undefined || node.length === nodeHeaderBytes ? undefined : entryAt(node, nodeHeaderBytes);
  }

  last(): TreeEntry | undefined {
    let node = this.root();
    while (node !== undefined && !isLeaf(node)) node = this.node(childNode(node, itemBefore(node, node.length)));
    return node === undefined || node.length === nodeHeaderBytes ? undefined : entryAt(node, itemBefore(node, node.length));
  }

  /** Shows the entries with `from <= key <= to` in their order. The tree must not be written meanwhile. */
  scan(from: Uint8Array | undefined, to: Uint8Array | undefined, visit: EntryVisitor): void {
    const root = this.root();
    if (root !== undefined) this.scanIn(root, from, to, visit);
  }

  protected root(): Uint8Array | undefined {
    if (!this.isRootKnown) this.rootIs(this.reader.getEntry(this.address));
    return this.knownRoot;
  }

  protected rootIs(root: Uint8Array | undefined): void {
    this.knownRoot = root;
    this.isRootKnown = true;
  }

  protected node(number: number): Uint8Array {
    const node = this.reader.getEntry(this.nodeAddress(number));
    assert(node !== undefined, `node ${number} of an ordered tree exists`);
    return node;
  }

  protected nodeAddress(number: number): string {
    const bytes = String.fromCharCode(number >>> 24, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff);
    return extendMapKey(this.address, bytes);
  }

  private floorIn(node: Uint8Array, key: Uint8Array): TreeEntry | undefined {
    if (isLeaf(node)) {
      const offset = lastNotGreater(node, key);
      return offset < 0 ? undefined : entryAt(node, offset);
    }
    // A child's key may be less than all that is left in it: then the entry is the last one of the child before.
    for (let offset = childFor(node, key); offset >= 0; offset = itemBefore(node, offset)) {
      const found = this.floorIn(this.node(childNode(node, offset)), key);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private scanIn(node: Uint8Array, from: Uint8Array | undefined, to: Uint8Array | undefined, visit: EntryVisitor): boolean {
    if (isLeaf(node)) return scanLeaf(node, from, to, visit);
    const first = from === undefined ? nodeHeaderBytes : childFor(node, from);
    for (let offset = first; offset < node.length; offset = itemEnd(node, offset)) {
      if (to !== undefined && offset !== first && compareKeyAt(node, offset, to) > 0) return false;
      if (!this.scanIn(this.node(childNode(node, offset)), from, to, visit)) return false;
    }
    return true;
  }
}

/** False when no later entry is wanted. */
function scanLeaf(leaf: Uint8Array, from: Uint8Array | undefined, to: Uint8Array | undefined, visit: EntryVisitor): boolean {
  let offset = from === undefined ? nodeHeaderBytes : firstNotLess(leaf, from);
  while (offset < leaf.length) {
    if (to !== undefined && compareKeyAt(leaf, offset, to) > 0) return false;
    const end = itemEnd(leaf, offset);
    if (visit(leaf, keyStart(offset), keyEnd(leaf, offset), end) === false) return false;
    offset = end;
  }
  return true;
}

function entryAt(leaf: Uint8Array, offset: number): TreeEntry {
  return { key: keyAt(leaf, offset), value: leaf.subarray(keyEnd(leaf, offset), itemEnd(leaf, offset)) };
}
