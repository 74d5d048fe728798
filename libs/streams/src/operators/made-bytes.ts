import { bytes } from '../serde/bytes.js';
import type { AnySerde, Serde } from '../serde/serde.js';

/** Serde of bytes that an operator makes itself; the name says of what, so that a store of other serdes is refused. */
export function madeBytes(what: string, ...of: readonly AnySerde[]): Serde<Uint8Array> {
  const schema = of.find((serde) => serde.schema !== undefined)?.schema;
  return {
    ...bytes(),
    name: of.length === 0 ? what : `${what}(${of.map(({ name }) => name).join(',')})`,
    ...(schema === undefined ? {} : { schema }),
  };
}
