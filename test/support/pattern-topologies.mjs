// @ts-check
/** A topology that reads all topics whose names match. */
import { int64, keyValueStore, nullable, StreamsBuilder, string, topic, topicPattern } from '@tally/streams';

const counts = keyValueStore('counts', { key: string(), value: int64() });

/** @type {Readonly<Record<string, (names: Readonly<Record<string, string>>) => import('./topologies.mjs').Built>>} */
export const topologies = {
  /** `<prefix>-in-...` -> how often each key has come -> `output`. */
  pattern(names) {
    const inputs = topicPattern('inputs', new RegExp(`${names['prefix'] ?? ''}-in-\\w+`), { key: string(), value: int64() });
    const streams = new StreamsBuilder({ name: 'pattern' });
    const output = topic(names['output'] ?? '', { key: string(), value: nullable(int64()) });
    streams.stream(inputs).groupByKey().count(counts).toStream().to(output);
    return { topology: streams.build(), stores: { counts } };
  },
};
