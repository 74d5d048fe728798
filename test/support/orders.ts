/** Records for the topologies in `raw-topologies.mjs`: orders of a number each, some of which ask for what cannot be done, and what must come out. */
import type { RawRecord } from './wire.js';

/** What a poison record asks the handler to do, or how its bytes are made unreadable. */
export type Ask = string;

export interface Order {
  readonly id: number;
  readonly partition: number;
  readonly key: string;
  readonly ask: Ask | undefined;
  readonly record: RawRecord;
}

const keysPerPartition = 25;
const firstTimestampMs = 1_700_000_000_000;

/** Bytes that no serde of the topology reads. */
const unreadable: Readonly<Record<string, Partial<RawRecord>>> = {
  notJson: { value: Buffer.from('{"id": 1, ') },
  notUtf8: { key: Buffer.from([0xff, 0xfe]) },
  nullKey: { key: null },
  nullValue: { value: null },
};

export const unreadableAsks: readonly Ask[] = Object.keys(unreadable);

export class Orders {
  readonly all: Order[] = [];

  constructor(readonly partitions: number) {}

  /** Makes orders; `isPoison` says which of them asks for which of the misdeeds. */
  add(count: number, asks: readonly Ask[] = [], isPoison: (index: number) => number | undefined = () => undefined): readonly Order[] {
    return Array.from({ length: count }, (_, index) => {
      const which = isPoison(index);
      return this.make(which === undefined ? undefined : asks[which % asks.length]);
    });
  }

  /** Spreads so many of each kind evenly. */
  spread(count: number, asks: readonly Ask[], each: number): readonly Order[] {
    const total = asks.length * each;
    const distance = Math.floor(count / (total + 1));
    return this.add(count, asks, (index) =>
      index > 0 && index % distance === 0 && index / distance <= total ? index / distance - 1 : undefined,
    );
  }

  private make(ask: Ask | undefined): Order {
    const id = this.all.length + 1;
    const partition = id % this.partitions;
    const key = `${partition}/${Math.floor(id / this.partitions) % keysPerPartition}`;
    const order = { id, n: id % 1_000, ...(ask === undefined || ask in unreadable ? {} : { ask }) };
    const headers =
      ask === undefined
        ? []
        : [
            { name: 'trace', value: Buffer.from([0, 255, id & 255]) },
            { name: 'trace', value: Buffer.alloc(0) },
          ];
    const plain = { key: Buffer.from(key), value: Buffer.from(JSON.stringify(order)), timestampMs: firstTimestampMs + id, headers };
    const made = { id, partition, key, ask, record: { ...plain, ...(ask === undefined ? {} : unreadable[ask]) } };
    this.all.push(made);
    return made;
  }

  /** `id:total` by key, in order, of what is processed; and the last totals. */
  expected(isProcessed: (order: Order) => boolean): {
    readonly outputs: ReadonlyMap<string, readonly string[]>;
    readonly totals: ReadonlyMap<string, string>;
  } {
    const outputs = new Map<string, string[]>();
    const totals = new Map<string, number>();
    for (const order of this.all) {
      if (!isProcessed(order)) continue;
      const total = (totals.get(order.key) ?? 0) + (order.id % 1_000);
      totals.set(order.key, total);
      const sequence = outputs.get(order.key);
      if (sequence === undefined) outputs.set(order.key, [`${order.id}:${total}`]);
      else sequence.push(`${order.id}:${total}`);
    }
    return { outputs, totals: new Map([...totals].map(([key, total]) => [key, String(total)])) };
  }
}
