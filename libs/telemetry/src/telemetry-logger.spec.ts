import { TopologyBuilder, string, topic } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { type PinoLike, pinoLogger } from './loggers.js';
import { observedSetting, traceHeaders } from './observed-worker.suite.js';

const words = topic('words', { key: string(), value: string() });
const traceId = '0af7651916cd43dd8448eb211c80319c';

describe('the log of an observed worker', () => {
  it('has a line for each change of state, none per record, here and in OpenTelemetry', async () => {
    const setting = observedSetting({ words: 2 }, { traceRatio: 0 });
    const builder = new TopologyBuilder({ name: 'words' });
    builder.processor(builder.source(words), { name: 'read', process: () => undefined });
    const worker = await setting.start(builder.build());
    await setting.until(() => worker.health().tasks.filter(({ phase }) => phase === 'running').length === 2);
    const linesBefore = setting.lines.length;
    setting.cluster.append(
      'words',
      0,
      Array.from({ length: 100 }, () => ({ key: 'a', value: 'x' })),
    );
    await setting.until(() => worker.health().counters.records === 100);
    expect(setting.lines.length).toBe(linesBefore);
    expect(setting.lines).toContainEqual(['Task words/1 is running.', { task: 'words/1', phase: 'running' }]);
    const records = setting.logExporter.getFinishedLogRecords();
    expect(records.map(({ body, severityText }) => [body, severityText])).toEqual([
      ['The worker is starting.', 'INFO'],
      ['The worker is running.', 'INFO'],
      ['Partitions were assigned: words-0, words-1.', 'INFO'],
    ]);
    expect(records[2]?.attributes).toEqual({ 'messaging.consumer.group.name': 'app', 'tally.partitions': 2 });
  });

  it('names the place of a record that stopped the worker, and its trace', async () => {
    const setting = observedSetting({ words: 1 }, { traceRatio: 0 });
    const builder = new TopologyBuilder({ name: 'words' });
    builder.processor(builder.source(words), {
      name: 'refuse',
      process: () => {
        throw new Error('no');
      },
    });
    const headers = traceHeaders(traceId, 'b7ad6b7169203331', true);
    setting.cluster.append('words', 0, [{ key: 'a', value: 'x', headers }]);
    const worker = await setting.start(builder.build());
    await setting.until(() => worker.health().phase === 'failed');
    const place = { task: 'words/0', topic: 'words', partition: 0, offset: 0 };
    expect(setting.lines).toContainEqual([
      expect.stringContaining('Record words-0 offset 0 failed'),
      expect.objectContaining({ ...place, trace_id: traceId }),
    ]);
    const record = setting.logExporter.getFinishedLogRecords().find(({ severityText }) => severityText === 'ERROR');
    expect(record?.spanContext?.traceId).toBe(traceId);
    expect(record?.attributes).toMatchObject({
      'tally.task': 'words/0',
      'messaging.destination.name': 'words',
      'messaging.kafka.offset': 0,
    });
  });
});

describe('a pino logger', () => {
  it('takes fields first', () => {
    const calls: unknown[] = [];
    const write = (fields: object, message: string): void => void calls.push([fields, message]);
    const pino: PinoLike = { debug: write, info: write, warn: write, error: write };
    const logger = pinoLogger(pino);
    logger.info('started', { task: 'words/0' });
    logger.error('failed');
    expect(calls).toEqual([
      [{ task: 'words/0' }, 'started'],
      [{}, 'failed'],
    ]);
  });
});
