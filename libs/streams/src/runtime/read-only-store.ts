/** What a processor gets of a store that is not its own to write: reads only, and only while its record is in hand. */
import { RecordRefusedError } from '../core/errors.js';
import type { KeyValueStore } from '../topology/store-definition.js';

type Rows = Pick<KeyValueStore<unknown, unknown>, 'get' | 'getWithTimestamp' | 'range' | 'all'>;

export class ReadOnlyStore implements KeyValueStore<unknown, unknown> {
  constructor(
    private readonly rows: Rows,
    private readonly name: string,
    /** What the store is a copy of. */
    private readonly topic: string,
    /** Throws once the record is closed. */
    private readonly check: () => void,
  ) {}

  get(key: unknown): unknown {
    this.check();
    return this.rows.get(key);
  }

  getWithTimestamp(key: unknown): ReturnType<Rows['getWithTimestamp']> {
    this.check();
    return this.rows.getWithTimestamp(key);
  }

  range(from: unknown, to: unknown): AsyncIterable<readonly [unknown, unknown]> {
    this.check();
    return this.rows.range(from, to);
  }

  all(): AsyncIterable<readonly [unknown, unknown]> {
    this.check();
    return this.rows.all();
  }

  put(): never {
    return this.refuse();
  }

  putWithTimestamp(): never {
    return this.refuse();
  }

  delete(): never {
    return this.refuse();
  }

  private refuse(): never {
    throw readOnly(this.name, this.topic);
  }
}

export function readOnly(store: string, topic: string): RecordRefusedError {
  const message = `Store '${store}' holds what topic '${topic}' holds, and is only read: what is written there would be lost with the disk. Send to the topic instead.`;
  return new RecordRefusedError('STORE_READ_ONLY', message, { store, topic });
}
