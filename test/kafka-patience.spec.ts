/** What the client under the broker port does while its broker is away. */
import { createKafkaBroker } from '@tally/kafka';
import { expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { BrokerProxy } from './support/proxy.js';

it('admin requests wait for a broker that is away without keeping a processor busy', async () => {
  const proxy = await BrokerProxy.start(kafkaAddresses());
  const broker = createKafkaBroker({ brokers: proxy.address, requestTimeoutMs: 1_000 });
  try {
    await broker.connect();
    const topic = `patience-${process.pid}-${Date.now()}`;
    await broker.admin.createTopic({ name: topic, partitions: 1, replicationFactor: -1, config: {} });
    const requests = [
      () => broker.admin.describeTopics([topic]),
      () => broker.admin.listOffsets([{ topic, partition: 0 }], 'lastStable'),
      () => broker.admin.deleteRecords([{ topic, partition: 0, offset: 0 }]),
    ];
    await proxy.leave();
    // The first one is the one that finds out.
    await expect(requests[0]?.()).rejects.toMatchObject({ kind: 'retriable' });
    const startedMs = performance.now();
    const before = process.cpuUsage();
    for (const request of requests) await expect(request()).rejects.toMatchObject({ kind: 'retriable' });
    const { user, system } = process.cpuUsage(before);
    const elapsedMs = performance.now() - startedMs;
    expect(elapsedMs, 'the requests waited').toBeGreaterThan(1_000);
    expect((user + system) / 1_000 / elapsedMs, 'share of a processor').toBeLessThan(0.3);
    await proxy.comeBack();
    for (const request of requests) await request();
  } finally {
    await broker.close();
    await proxy.close();
  }
});
