import { describe, expect, it } from 'vitest';
import { int64, nullable, string } from '../serde/index.js';
import { sessionStore, topic, type Topology, windowStore } from '../topology/index.js';
import { hopping, session, sliding, StreamsBuilder, tumbling, unlimited } from './index.js';

const words = topic('words', { key: nullable(string()), value: nullable(string()) });
const minute = tumbling({ sizeMs: 60_000, graceMs: 1_000 });

function windowsOf(retentionMs: number, windowSizeMs?: number) {
  return windowStore('windows', { key: string(), value: int64(), retentionMs, ...(windowSizeMs === undefined ? {} : { windowSizeMs }) });
}

function build(declare: (grouped: ReturnType<typeof grouping>) => unknown): Topology {
  const streams = new StreamsBuilder();
  declare(grouping(streams));
  return streams.build();
}

function grouping(streams: StreamsBuilder) {
  return streams.stream(words).groupByKey();
}

/** The options of a store of the topology. */
function storeOf(topology: Topology, name: string): Readonly<Record<string, unknown>> {
  return topology.stores.get(name) as unknown as Readonly<Record<string, unknown>>;
}

describe('windows', () => {
  it('refuse what no window can be', () => {
    expect(() => tumbling({ sizeMs: 0, graceMs: 0 })).toThrow('"sizeMs" of time windows must be a whole number from 1');
    expect(() => tumbling({ sizeMs: 1, graceMs: -1 })).toThrow('"graceMs" of time windows must be a whole number from 0');
    expect(() => hopping({ sizeMs: 10, advanceMs: 0, graceMs: 0 })).toThrow('"advanceMs" of time windows must be a whole number from 1');
    expect(() => hopping({ sizeMs: 10, advanceMs: 11, graceMs: 0 })).toThrow('records between two windows would fall into none');
    expect(() => sliding({ differenceMs: 0, graceMs: 0 })).toThrow('"differenceMs" of sliding windows must be a whole number from 1');
    expect(() => session({ gapMs: 0, graceMs: 0 })).toThrow('"gapMs" of session windows must be a whole number from 1');
    expect(() => unlimited({ startMs: 0.5 })).toThrow('"startMs" of unlimited windows must be a whole number from 0');
  });
});

describe('the store of windows', () => {
  it('is made by itself, and keeps what the windows need', () => {
    const kept = (topology: Topology): unknown[] =>
      [...topology.stores.values()].map((store) => {
        const { name, kind, retentionMs, windowSizeMs } = store as unknown as Record<string, unknown>;
        return [name, kind, retentionMs, windowSizeMs].filter((part) => part !== undefined);
      });
    expect(kept(build((grouped) => grouped.windowedBy(minute).count()))).toEqual([['words-count', 'window', 61_000, 60_000]]);
    expect(kept(build((grouped) => grouped.windowedBy(minute).count({ name: 'counted', emit: 'onClose' })))).toEqual([
      ['counted', 'window', 61_001, 60_000],
      ['counted-open', 'sorted'],
    ]);
    expect(kept(build((grouped) => grouped.windowedBy(sliding({ differenceMs: 100, graceMs: 7 })).count()))).toEqual([
      ['words-count', 'window', 207, 100],
    ]);
    expect(kept(build((grouped) => grouped.windowedBy(unlimited()).count()))).toEqual([
      ['words-count', 'window', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ]);
    expect(kept(build((grouped) => grouped.windowedBy(session({ gapMs: 10, graceMs: 5 })).count({ emit: 'onClose' })))).toEqual([
      ['words-count', 'session', 15],
      ['words-count-open', 'sorted'],
    ]);
  });

  it('has the length of the windows where its handle says nothing of it', () => {
    const topology = build((grouped) => grouped.windowedBy(minute).count(windowsOf(3_600_000)));
    expect(storeOf(topology, 'windows')).toMatchObject({ retentionMs: 3_600_000, windowSizeMs: 60_000 });
    const other = (): unknown => build((grouped) => grouped.windowedBy(minute).count(windowsOf(3_600_000, 30_000)));
    expect(other).toThrow('"windowSizeMs" of store "windows" is 30000 ms, but its windows are 60000 ms long');
  });

  it('keeps windows for as long as they can change', () => {
    const count = (retentionMs: number, emit: 'onUpdate' | 'onClose') => (): unknown =>
      build((grouped) => grouped.windowedBy(minute).count(windowsOf(retentionMs, 60_000), { emit }));
    expect(count(60_999, 'onUpdate')).toThrow('keep windows for at least 61000 ms, which is the size of its windows and the grace period.');
    expect(count(61_000, 'onUpdate')).not.toThrow();
    expect(count(61_000, 'onClose')).toThrow('at least 61001 ms, which is the size of its windows and the grace period, and one more');
    expect(count(61_001, 'onClose')).not.toThrow();
    const slide = (): unknown => build((grouped) => grouped.windowedBy(sliding({ differenceMs: 10, graceMs: 0 })).count(windowsOf(19, 10)));
    expect(slide).toThrow('at least 20 ms, which is twice the difference of its windows');
    const sessions = sessionStore('sessions', { key: string(), value: int64(), retentionMs: 14 });
    const visit = (): unknown => build((grouped) => grouped.windowedBy(session({ gapMs: 10, graceMs: 5 })).count(sessions));
    expect(visit).toThrow('"retentionMs" of store "sessions" is 14 ms: keep sessions for at least 15 ms');
  });

  it('keeps one value for each window', () => {
    const store = windowStore('windows', { key: string(), value: int64(), retentionMs: 100_000, retainDuplicates: true });
    expect(() => build((grouped) => grouped.windowedBy(minute).count(store))).toThrow('keeps one value for each window');
  });

  it('belongs to one table', () => {
    const twice = (): unknown =>
      build((grouped) => {
        grouped.windowedBy(minute).count(windowsOf(100_000));
        grouped.windowedBy(minute).count(windowsOf(100_000), { name: 'again' });
      });
    expect(twice).toThrow('The store "windows" is the table of "windows-aggregate" already');
  });
});

describe('windowed tables', () => {
  it('cannot wait for the end of windows that never end', () => {
    const count = (): unknown => grouping(new StreamsBuilder()).windowedBy(unlimited()).count({ emit: 'onClose' });
    expect(count).toThrow('unlimited windows never close');
    const streams = new StreamsBuilder();
    grouping(streams).windowedBy(unlimited()).count().suppress({ until: 'windowCloses' });
    expect(() => streams.build()).toThrow('its rows do not belong to windows that close');
  });

  it('share the repartition topic of their grouping', () => {
    const streams = new StreamsBuilder();
    const grouped = streams.stream(words).groupBy((value) => value, { key: nullable(string()), name: 'by-word' });
    grouped.windowedBy(minute).count({ name: 'minutes' });
    grouped.windowedBy(session({ gapMs: 5, graceMs: 0 })).count({ name: 'visits' });
    grouped.count({ name: 'all' });
    const topology = streams.build();
    expect(topology.repartitionTopics.map(({ name }) => name)).toEqual(['by-word-repartition']);
    expect([...topology.stores.keys()]).toEqual(['minutes', 'visits', 'all']);
  });

  it('say which serde they lack for a store of their own', () => {
    const streams = new StreamsBuilder();
    streams
      .stream(words)
      .selectKey((value) => value)
      .groupByKey()
      .windowedBy(minute)
      .count({ name: 'counted' });
    expect(() => streams.build()).toThrow('Operator "counted" needs the key\'s serde, because it keeps a store of its own');
  });
});
