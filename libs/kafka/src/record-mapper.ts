/** The client's messages as the port's records. */
import type { ConsumedRecord } from '@tally/streams';
import { fromNativeHeaders } from './headers.js';
import type { NativeMessage } from './native.js';

export class RecordMapper {
  /** The client makes a new string of the topic's name per message; keeping one of them keeps its hash too. */
  #topic = '';

  map(messages: readonly NativeMessage[]): ConsumedRecord[] {
    const records: ConsumedRecord[] = new Array<ConsumedRecord>(messages.length);
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index] as NativeMessage;
      if (message.topic !== this.#topic) this.#topic = message.topic;
      records[index] = {
        topic: this.#topic,
        partition: message.partition,
        offset: message.offset,
        timestampMs: message.timestamp,
        key: message.key,
        value: message.value,
        headers: fromNativeHeaders(message.headers),
      };
    }
    return records;
  }
}
