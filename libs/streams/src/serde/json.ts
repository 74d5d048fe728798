/**
 * Grammar: `json = JSON-text` in UTF-8, with exact integers as `json-text.ts` describes. The text `null` is neither read nor written: null
 * is Kafka's null, no bytes at all; see `nullable()`.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { TallyError } from '../core/errors.js';
import { SchemaReader, checkBySchema } from './json-schema.js';
import { parseJson, stringifyExact, stringifyPlain } from './json-text.js';
import { corruptBytes, refusedValue } from './refusal.js';
import type { Serde } from './serde.js';
import { decodeUtf8, encodeUtf8 } from './utf8.js';

/**
 * JSON. bigints come back as bigints, numbers as numbers; integers from other programs are numbers where these hold them exactly, else
 * bigints.
 *
 * With a Standard Schema (zod, valibot, arktype, ...) what is read is validated and becomes the schema's output, and an integer becomes a
 * bigint where the schema asks for one; what is written must be valid too, so a schema that transforms must accept its own output. Without
 * one, `json<T>()` takes the type at its word.
 * @example const payments = topic('payments', { key: string(), value: json(Payment) });
 */
export function json<T>(): Serde<T>;
export function json<S extends StandardSchemaV1>(schema: S): Serde<StandardSchemaV1.InferOutput<S>>;
export function json(schema?: StandardSchemaV1): Serde<unknown> {
  const { serialize, deserialize } = plainJson();
  if (schema === undefined) return Object.freeze({ name: 'json', serialize, deserialize });
  const reader = new SchemaReader(schema);
  return Object.freeze({
    name: 'json',
    schema,
    serialize(value: unknown) {
      try {
        if (value !== null) checkBySchema(schema, value);
      } catch (cause) {
        throw classified(cause, (error) => refusedValue('json', value, `the schema refuses it (${error.message})`, error));
      }
      return serialize(value);
    },
    deserialize(bytes: Uint8Array) {
      const parsed = deserialize(bytes);
      try {
        return reader.read(parsed);
      } catch (cause) {
        throw classified(cause, (error) => corruptBytes('json', `the schema refuses the value (${error.message})`, error));
      }
    },
  });
}

function plainJson(): Pick<Serde<unknown>, 'serialize' | 'deserialize'> {
  // Values of one serde are alike, so what the last one needed is tried first.
  let expectBigints = false;

  function textOf(value: unknown): string | undefined {
    if (expectBigints) return stringifyExact(value);
    try {
      return stringifyPlain(value);
    } catch (refusal) {
      if (!(refusal instanceof TypeError)) throw refusal;
      try {
        const text = stringifyExact(value);
        expectBigints = true;
        return text;
      } catch {
        throw refusal;
      }
    }
  }

  return {
    serialize(value) {
      if (value === null) throw refusedValue('json', value, 'null means that there is no value; wrap the serde in nullable() to allow it');
      let text: string | undefined;
      try {
        text = textOf(value);
      } catch (cause) {
        throw classified(cause, (error) => refusedValue('json', value, error.message, error));
      }
      if (text === undefined) throw refusedValue('json', value, 'JSON has no form for it');
      return encodeUtf8('json', text);
    },
    deserialize(bytes) {
      const text = decodeUtf8('json', bytes);
      let value: unknown;
      try {
        value = parseJson(text);
      } catch (cause) {
        throw classified(cause, (error) => corruptBytes('json', `they are not JSON (${error.message})`, error));
      }
      if (value === null) throw corruptBytes('json', 'they are the JSON text null, but null is written as no bytes at all');
      return value;
    },
  };
}

/** Errors of a schema or a value become the serde's; those that Tally classified stay. */
function classified(cause: unknown, wrap: (error: Error) => Error): Error {
  if (cause instanceof TallyError) return cause;
  return wrap(cause instanceof Error ? cause : new Error(String(cause)));
}
