/** The W3C trace context in record headers. */
import { type Context, ROOT_CONTEXT, type TextMapGetter, type TextMapSetter, propagation } from '@opentelemetry/api';
import type { Header, Headers } from '@tally/streams';

const traceParent = 'traceparent';

const getter: TextMapGetter<Headers> = {
  keys: (headers) => headers.map(({ name }) => name),
  get: (headers, key) => {
    const header = headers.findLast(({ name }) => name === key);
    return header === undefined ? undefined : Buffer.from(header.value).toString('utf8');
  },
};

const setter: TextMapSetter<Header[]> = {
  set: (headers, name, value) => void headers.push({ name, value: Buffer.from(value, 'utf8') }),
};

/**
 * Whether the record's producer sampled its trace; `undefined` when it brings no trace. Looks at two bytes and no more: it is asked for each
 * record. The form is `00-<32 digits>-<16 digits>-<flags>`.
 */
export function sampledByParent(headers: Headers): boolean | undefined {
  for (let index = headers.length - 1; index >= 0; index--) {
    const header = headers[index];
    if (header === undefined || header.name.length !== traceParent.length || header.name !== traceParent) continue;
    const { value } = header;
    if (value.length < 55 || value[52] !== hyphen) return undefined;
    // The last digit of the flags is odd.
    return ((value[54] ?? 0) & 1) === 1;
  }
  return undefined;
}

const hyphen = 0x2d;

/** The context that the headers bring, as a remote parent. */
export function contextOf(headers: Headers): Context {
  return propagation.extract(ROOT_CONTEXT, headers, getter);
}

/** The headers with the trace context, in place of the one that they may have had. */
export function withContext(context: Context, headers: Headers): Headers {
  const own: Header[] = [];
  propagation.inject(context, own, setter);
  const names = new Set(propagation.fields());
  return [...headers.filter(({ name }) => !names.has(name)), ...own];
}
