/** What most scenarios read and write: `<id>:<amount>`. In outputs the id is that of the record which caused them. */
import { CorruptDataError, type Serde } from '@tally/streams';
import { textOf } from './scenario.js';

export interface Item {
  readonly id: number;
  readonly amount: number;
}

export function item(): Serde<Item> {
  return {
    name: 'item',
    serialize: (value) => Buffer.from(itemText(value)),
    deserialize(bytes) {
      const text = textOf(bytes);
      const colon = text.indexOf(':');
      const value = { id: Number(text.slice(0, colon)), amount: Number(text.slice(colon + 1)) };
      if (colon < 1 || !Number.isSafeInteger(value.id) || !Number.isSafeInteger(value.amount))
        throw new CorruptDataError('ITEM_CORRUPT', `'${text}' is no item.`);
      return value;
    },
  };
}

export function itemText({ id, amount }: Item): string {
  return `${id}:${amount}`;
}

export function itemBytes(id: number, amount: number): Uint8Array {
  return Buffer.from(itemText({ id, amount }));
}

const serde = item();

export function itemOf(bytes: Uint8Array | null): Item {
  return serde.deserialize(bytes ?? Buffer.alloc(0));
}
