// @ts-check
/**
 * A service as a user would write and build it, for tests of what it says when it cannot run: counts records by key. Its settings come as
 * JSON in the environment variable SETTINGS.
 */
import { Module } from '@nestjs/common';
import { bootstrapStreams, StreamsModule, Topology } from '@tally/nestjs';
import { int64, keyValueStore, string, topic } from '@tally/streams';

/**
 * @typedef {object} Settings
 * @property {import('@tally/nestjs').StreamsModuleOptions} options
 * @property {string} input
 * @property {string} output
 * @property {number} [inputPartitions] what the input topic is declared with
 * @property {'int64'} [storeKey] declares the store with other keys than before
 */

const settings = /** @type {Settings} */ (JSON.parse(process.env['SETTINGS'] ?? '{}'));
const input = topic(settings.input, {
  key: string(),
  value: string(),
  ...(settings.inputPartitions === undefined ? {} : { partitions: settings.inputPartitions }),
});
const output = topic(settings.output, { key: string(), value: string() });
const counts = keyValueStore('counts', {
  key: settings.storeKey === 'int64' ? /** @type {import('@tally/streams').Serde<string>} */ (/** @type {unknown} */ (int64())) : string(),
  value: int64(),
});

class Counting {
  /** @param {import('@tally/streams').StreamsBuilder} streams */
  build(streams) {
    streams
      .stream(input)
      .groupByKey()
      .count(counts)
      .toStream()
      .map((count) => String(count))
      .to(output);
  }
}
Topology('counting')(Counting);

class ServiceModule {}
Module({ imports: [StreamsModule.forRoot(settings.options)], providers: [Counting] })(ServiceModule);

await bootstrapStreams(ServiceModule, { port: 0, host: '127.0.0.1' });
