/** A text for each value, the same for values that say the same: for comparisons and messages. */
export function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, replace) ?? String(value);
}

function replace(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  // What JSON makes of a Buffer before it asks.
  if (isBufferJson(value)) return Buffer.from(value.data).toString('base64');
  if (value instanceof Map) return [...value].map(([key, each]) => [plainText(key), each as unknown]);
  if (value instanceof Set) return [...value];
  return value;
}

function isBufferJson(value: unknown): value is { readonly data: readonly number[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value &&
    Array.isArray(value.data)
  );
}
