/** Plans as JSON, to be kept and run again. */
import type { HistoryPlan, PlannedRecord } from './plan.js';

interface RecordJson extends Omit<PlannedRecord, 'atMs' | 'key' | 'value' | 'headers'> {
  /** Absent for what comes last: JSON knows no infinity. */
  readonly atMs?: number;
  /** Base64. */
  readonly key: string | null;
  readonly value: string | null;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

export function planToJson(plan: HistoryPlan): string {
  return JSON.stringify({ ...plan, load: plan.load.map(recordToJson) }, undefined, 1);
}

export function planFromJson(text: string): HistoryPlan {
  const plan = JSON.parse(text) as Omit<HistoryPlan, 'load'> & { readonly load: readonly RecordJson[] };
  return { ...plan, load: plan.load.map(recordFromJson) };
}

function recordToJson({ atMs, key, value, headers = [], ...rest }: PlannedRecord): RecordJson {
  const time = atMs === Number.POSITIVE_INFINITY ? {} : { atMs };
  const pairs = headers.map((header) => [header.name, Buffer.from(header.value).toString('base64')] as const);
  return { ...rest, ...time, ...(pairs.length === 0 ? {} : { headers: pairs }), key: encode(key), value: encode(value) };
}

function recordFromJson({ atMs = Number.POSITIVE_INFINITY, key, value, headers = [], ...rest }: RecordJson): PlannedRecord {
  const own = headers.map(([name, text]) => ({ name, value: Buffer.from(text, 'base64') }));
  return { ...rest, atMs, ...(own.length === 0 ? {} : { headers: own }), key: decode(key), value: decode(value) };
}

function encode(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('base64');
}

function decode(text: string | null): Uint8Array | null {
  return text === null ? null : Buffer.from(text, 'base64');
}

/** The plan in some lines, for a reader; the records only as a number. */
export function describePlan({
  seed,
  scenario,
  machines,
  partitions,
  worker,
  cluster,
  load,
  faults,
  durationMs,
}: HistoryPlan): readonly string[] {
  return [
    `seed ${seed}, ${scenario}: ${load.length} records, ${partitions} partitions, ${machines} workers, everything heals after ${durationMs} ms`,
    `  worker ${JSON.stringify(worker)}`,
    `  cluster ${JSON.stringify(cluster)}`,
    ...faults.map((fault) => `  ${JSON.stringify(fault)}`),
  ];
}
