/** UTF-8 both ways, without replacement characters: text that cannot be written exactly is refused, and so are bytes that are no UTF-8. */
import { corruptBytes, refusedValue } from './refusal.js';

const loneSurrogate = /\p{Surrogate}/u;
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws RecordRefusedError where the text holds a lone surrogate, which UTF-8 cannot express */
export function encodeUtf8(serde: string, text: string): Uint8Array {
  const bytes = Buffer.from(text, 'utf8');
  // As many bytes as characters: all of it is ASCII.
  if (bytes.length !== text.length && loneSurrogate.test(text)) {
    throw refusedValue(serde, text, 'it holds half of a surrogate pair, which UTF-8 cannot express');
  }
  return bytes;
}

/** @throws CorruptDataError */
export function decodeUtf8(serde: string, bytes: Uint8Array): string {
  try {
    return strictDecoder.decode(bytes);
  } catch (cause) {
    throw corruptBytes(serde, 'they are not valid UTF-8', cause);
  }
}
