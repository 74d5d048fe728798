/** Topics, records and offsets for tests of Nest applications over a real cluster, and the applications themselves. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DynamicModule, type INestApplication, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { getStreamsHealthToken, type StreamsHealthIndicator, type StreamsModuleOptions, streamsTransport } from '@tally/nestjs';
import { nullable, silentLogger, string, topic as declareTopic } from '@tally/streams';
import { kafkaAddresses } from './kafka-setting.js';

import { createKafkaBroker } from '@tally/kafka';
import type { Broker, ConsumedRecord, Topic } from '@tally/streams';

export const partitions = 2;

/** One cluster seen from outside of the application under test. */
export class Outside {
  private constructor(
    private readonly broker: Broker,
    readonly prefix: string,
  ) {}

  static async connect(name: string): Promise<Outside> {
    const broker = createKafkaBroker({ brokers: kafkaAddresses() });
    await broker.connect();
    return new Outside(broker, `${name}-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`);
  }

  async createTopics(...topics: readonly { readonly name: string }[]): Promise<void> {
    for (const { name } of topics) await this.broker.admin.createTopic({ name, partitions, replicationFactor: 1, config: {} });
  }

  /** Writes the records, each to the partition that is given or the first. */
  async write<K, V>(topic: Topic<K, V>, records: readonly (readonly [key: K, value: V | null, partition?: number])[]): Promise<void> {
    const producer = this.broker.createOutputProducer();
    await producer.connect();
    for (const [key, value, partition = 0] of records) {
      const bytes = value === null ? null : topic.value.serialize(value);
      while (!producer.produce(topic.name, partition, topic.key.serialize(key), bytes, Date.now(), [])) await pause();
    }
    await producer.flush(10_000);
    await producer.close();
  }

  /** All committed records of the topic, as texts `key=value`, once there are so many. */
  async read<K, V>(topic: Topic<K, V>, count: number): Promise<readonly string[]> {
    const reader = this.broker.createReader();
    await reader.connect();
    await reader.assign(Array.from({ length: partitions }, (_each, partition) => ({ topic: topic.name, partition, offset: 0 })));
    const records: ConsumedRecord[] = [];
    const until = Date.now() + 60_000;
    while (records.length < count && Date.now() < until) records.push(...(await reader.read(10_000, 100)));
    // What is there beyond the expected count must be seen too.
    records.push(...(await reader.read(10_000, 300)));
    await reader.close();
    return records.map(
      ({ key, value }) =>
        `${key === null ? 'null' : String(topic.key.deserialize(key))}=${value === null ? 'null' : String(topic.value.deserialize(value))}`,
    );
  }

  /** Committed input offsets of the group, by partition. */
  async committed(group: string, topic: { readonly name: string }): Promise<readonly (number | undefined)[]> {
    const places = Array.from({ length: partitions }, (_each, partition) => ({ topic: topic.name, partition }));
    return (await this.broker.admin.stableOffsets(group, places)).map(({ offset }) => offset);
  }

  async members(group: string): Promise<number> {
    return (await this.broker.admin.describeGroup(group)).length;
  }

  close(): Promise<void> {
    return this.broker.close();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** The applications of one test file; `close` ends those of a test, `remove` deletes their directories. */
const directories: string[] = [];
const apps: INestApplication[] = [];

export async function closeApplications(): Promise<void> {
  for (const app of apps.splice(0)) await app.close();
}

export function removeDirectories(): void {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
}

export function topicsOf(outside: Outside, name: string) {
  const of = (suffix: string) => declareTopic(`${outside.prefix}-${name}-${suffix}`, { key: string(), value: nullable(string()) });
  return { input: of('in'), output: of('out'), audit: of('audit'), letters: of('letters') };
}

export function options(applicationId: string, rest: Partial<StreamsModuleOptions> = {}): StreamsModuleOptions {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'tally-nest-'));
  directories.push(stateDirectory);
  return { applicationId, brokers: kafkaAddresses(), stateDirectory, logger: silentLogger, onFailure: 'close', ...rest };
}

export async function create(
  imports: DynamicModule[],
  controllers: Type<unknown>[],
  names: readonly (string | undefined)[] = [undefined],
  providers: object[] = [],
): Promise<INestApplication> {
  const module = await Test.createTestingModule({ imports, controllers, providers: providers as never }).compile();
  const app = module.createNestApplication({ logger: false });
  apps.push(app);
  for (const name of names) app.connectMicroservice({ strategy: streamsTransport(app, name) }, { inheritAppConfig: true });
  await app.init();
  return app;
}

export function isReady(app: INestApplication, name?: string): boolean {
  return app.get<StreamsHealthIndicator>(getStreamsHealthToken(name)).isReady('streams').streams.status === 'up';
}
