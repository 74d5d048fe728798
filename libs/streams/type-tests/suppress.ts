/** What may be held back, and until when. Compiled, never run. */
import { keyValueStore, string, topic, nullable, type KTable, type StreamsBuilder, type Windowed } from '@tally/streams';

const accounts = topic('accounts', { key: string(), value: nullable(string()) });
const rows = keyValueStore('rows', { key: string(), value: string() });

export function suppressions(streams: StreamsBuilder, windowed: KTable<Windowed<string>, bigint>): void {
  const table: KTable<string, string> = streams.table(accounts, rows).suppress({ until: 'timeLimit', waitMs: 5, whenFull: 'shutDown' });
  table.suppress({ until: 'timeLimit', waitMs: 5, recordsMax: 10, bytesMax: 1_000, whenFull: 'emitEarly' });
  // @ts-expect-error a time limit has a length
  table.suppress({ until: 'timeLimit' });
  // @ts-expect-error these keys have no windows
  table.suppress({ until: 'windowCloses' });
  const final: KTable<Windowed<string>, bigint> = windowed.suppress({ until: 'windowCloses', recordsMax: 10 });
  final.suppress({ until: 'timeLimit', waitMs: 5 });
  // @ts-expect-error a final result is not forwarded early
  windowed.suppress({ until: 'windowCloses', whenFull: 'emitEarly' });
  // @ts-expect-error a window closes by itself
  windowed.suppress({ until: 'windowCloses', waitMs: 5 });
}
