/** Headers on their way to and from the native client, which knows them as objects of one property each. */
import { BrokerError, type Header, type Headers, noHeaders } from '@tally/streams';
import { toNativeBytes } from './bytes.js';

export type NativeHeaders = readonly Readonly<Record<string, Uint8Array>>[];

/**
 * Checked before anything is queued: the native side throws at a wrong header only after it queued the record.
 * @throws BrokerError of kind `recordRefused`
 */
export function toNativeHeaders(headers: Headers, topic: string): NativeHeaders | undefined {
  if (headers.length === 0) return undefined;
  return headers.map((header) => {
    checkName(header.name, topic);
    if (!(header.value instanceof Uint8Array)) {
      throw refused(topic, `Header ${JSON.stringify(header.name)} must have bytes as its value; a null value cannot be written.`);
    }
    // A computed name makes an own property even of `__proto__`.
    return { [header.name]: toNativeBytes(header.value) as Uint8Array };
  });
}

export function fromNativeHeaders(headers: readonly object[] | undefined): Headers {
  if (headers === undefined || headers.length === 0) return noHeaders;
  return headers.map(fromNativeHeader);
}

function fromNativeHeader(header: object): Header {
  for (const name in header) {
    if (Object.hasOwn(header, name)) return { name, value: (header as Record<string, Uint8Array>)[name] as Uint8Array };
  }
  // The client assigns names as properties, so a header called `__proto__` has become the object's prototype.
  return { name: '__proto__', value: Object.getPrototypeOf(header) as Uint8Array };
}

function checkName(name: string, topic: string): void {
  if (typeof name !== 'string') throw refused(topic, 'A header name must be a string.');
  if (name.includes('\0')) throw refused(topic, `Header name ${JSON.stringify(name)} contains a NUL character, which would cut it.`);
  if (/\p{Surrogate}/u.test(name)) throw refused(topic, `Header name ${JSON.stringify(name)} has half a surrogate pair and no UTF-8 form.`);
}

function refused(topic: string, message: string): BrokerError {
  return new BrokerError({
    code: 'HEADER_INVALID',
    kind: 'recordRefused',
    message: `${message} The record for topic ${topic} was not queued.`,
    place: { topic },
  });
}
