/** Windowed aggregations: what an application writes, and what the compiler must refuse. Compiled, never run. */
import {
  double,
  hopping,
  int64,
  json,
  keyValueStore,
  type KStream,
  type KTable,
  nullable,
  session,
  sessionStore,
  sessionWindowed,
  type SessionWindowedKStream,
  sliding,
  type StreamsBuilder,
  string,
  timeWindowed,
  type TimeWindowedKStream,
  topic,
  tumbling,
  unlimited,
  type Windowed,
  windowStore,
} from '@tally/streams';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>(): void => undefined;

interface Click {
  readonly page: string;
  readonly weight: bigint;
}

const clicks = topic('clicks', { key: string(), value: json<Click>() });
const optional = topic('optional', { key: nullable(string()), value: nullable(int64()) });
const hourly = windowStore('hourly', { key: string(), value: int64(), retentionMs: 86_400_000 });
const pages = windowStore('pages', { key: string(), value: json<readonly string[]>(), retentionMs: 86_400_000 });
const visits = sessionStore('visits', { key: string(), value: json<readonly string[]>(), retentionMs: 86_400_000 });
const visitCounts = sessionStore('visit-counts', { key: string(), value: int64(), retentionMs: 86_400_000 });
const balances = keyValueStore('balances', { key: string(), value: int64() });
const hour = tumbling({ sizeMs: 3_600_000, graceMs: 0 });

export function timeWindows(streams: StreamsBuilder): void {
  const grouped = streams.stream(clicks).groupByKey();
  const windowed = grouped.windowedBy(hour);
  is<Equal<typeof windowed, TimeWindowedKStream<string, Click>>>();
  const counts = windowed.count(hourly);
  is<Equal<typeof counts, KTable<Windowed<string>, bigint>>>();
  is<Equal<ReturnType<typeof windowed.count>, KTable<Windowed<string>, bigint>>>();
  windowed.count(hourly, { emit: 'onClose', name: 'clicks-per-hour' });
  windowed.count({ name: 'clicks-per-hour', emit: 'onClose' });
  // @ts-expect-error windows come out on update or on close
  windowed.count({ emit: 'sometimes' });
  // @ts-expect-error counts are bigint
  windowed.count(pages);
  // @ts-expect-error windows are kept in a window store
  windowed.count(balances);
  // @ts-expect-error sessions are kept in another kind of store
  windowed.count(visitCounts);

  // The aggregate's type comes from the store, so an empty array is no never[].
  const lists = windowed.aggregate(pages, { initial: () => [], add: (all, click) => [...all, click.page] }, { emit: 'onClose' });
  is<Equal<typeof lists, KTable<Windowed<string>, readonly string[]>>>();
  // @ts-expect-error the store holds bigint
  windowed.aggregate(hourly, { initial: () => 0, add: (sum) => sum });
  // @ts-expect-error the store has another key
  windowed.aggregate(windowStore('a', { key: double(), value: int64(), retentionMs: 1 }), { initial: () => 0n, add: (sum) => sum });
  // @ts-expect-error a reduced value is of the stream's type
  windowed.reduce(hourly, (left) => left);
  grouped.windowedBy(hopping({ sizeMs: 10, advanceMs: 5, graceMs: 0 })).count();
  grouped.windowedBy(unlimited()).count();
  // @ts-expect-error how long late records are waited for has to be said
  tumbling({ sizeMs: 10 });

  const rows = counts.toStream();
  is<Equal<typeof rows, KStream<Windowed<string>, bigint | null>>>();
  rows.to(topic('out', { key: timeWindowed(string(), { sizeMs: 3_600_000 }), value: nullable(int64()) }));
  // @ts-expect-error the key has a window
  rows.to(topic('out', { key: string(), value: nullable(int64()) }));
  counts.filter((count, { key, startMs }) => key !== '' && startMs > 0 && count > 1n).suppress({ until: 'windowCloses' });
}

export function sessions(streams: StreamsBuilder): void {
  const grouped = streams.stream(clicks).groupByKey();
  const windowed = grouped.windowedBy(session({ gapMs: 1_800_000, graceMs: 0 }));
  is<Equal<typeof windowed, SessionWindowedKStream<string, Click>>>();
  const table = windowed.aggregate(visits, {
    initial: () => [],
    add: (all, click) => [...all, click.page],
    merge: (left, right) => [...left, ...right],
  });
  is<Equal<typeof table, KTable<Windowed<string>, readonly string[]>>>();
  // @ts-expect-error sessions become one
  windowed.aggregate(visits, { initial: () => [], add: (all, click) => [...all, click.page] });
  // @ts-expect-error the store holds arrays
  windowed.aggregate(visits, { initial: () => [], add: (all) => all, merge: (left) => left.length });
  is<Equal<ReturnType<typeof windowed.count>, KTable<Windowed<string>, bigint>>>();
  windowed.count(visitCounts, { emit: 'onClose' });
  // @ts-expect-error windows are kept in another kind of store
  windowed.count(hourly);
  table.toStream().to(topic('out', { key: sessionWindowed(string()), value: nullable(json<readonly string[]>()) }));
}

export function nulls(streams: StreamsBuilder): void {
  const grouped = streams.stream(optional).groupByKey();
  // Null keys are skipped, null values are not.
  const table = grouped.windowedBy(hour).aggregate(hourly, { initial: () => 0n, add: (sum, value) => sum + (value ?? 0n) });
  is<Equal<typeof table, KTable<Windowed<string>, bigint>>>();
  // @ts-expect-error the value may be null
  grouped.windowedBy(hour).aggregate(hourly, { initial: () => 0n, add: (sum, value) => sum + value });
  grouped.windowedBy(hour).reduce(hourly, (sum, value) => sum + (value ?? 0n));
  // Sliding windows skip both.
  grouped.windowedBy(sliding({ differenceMs: 10, graceMs: 0 })).reduce(hourly, (sum, value) => sum + value);
}
