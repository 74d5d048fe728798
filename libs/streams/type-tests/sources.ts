/** What topics may say of the records that are read. Compiled, never run. */
import { json, string, topic, type StreamsBuilder, type Topic } from '@tally/streams';

interface Reading {
  readonly takenAtMs: number;
}

const readings: Topic<string, Reading> = topic('readings', {
  key: string(),
  value: json<Reading>(),
  timestamps: (reading, key, { partitionTimeMs }) => (key === '' ? partitionTimeMs : reading.takenAtMs),
});
topic('readings', { key: string(), value: json<Reading>(), timestamps: 'usePartitionTime' });
// @ts-expect-error no such timestamps
topic('readings', { key: string(), value: json<Reading>(), timestamps: 'wallClock' });
// @ts-expect-error a timestamp is a number
topic('readings', { key: string(), value: json<Reading>(), timestamps: (reading) => String(reading.takenAtMs) });
// @ts-expect-error a field that readings have not
topic('readings', { key: string(), value: json<Reading>(), timestamps: (reading) => Number(reading.atMs) });

export function sources(streams: StreamsBuilder): void {
  streams.stream(readings).filter((reading) => reading.takenAtMs > 0);
}
