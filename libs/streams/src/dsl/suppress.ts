/** How `suppress` is told what to hold back, and what becomes of it. */
import { InvalidConfigurationError } from '../core/errors.js';
import type { Windowed } from '../core/windowed.js';
import { SuppressBuffer, SuppressedTable, type Suppression } from '../operators/index.js';
import { bytes } from '../serde/bytes.js';
import type { Serde } from '../serde/serde.js';
import { checkInteger } from '../topology/names.js';
import type { Named } from './options.js';
import type { DslScope, TablePosition } from './scope.js';
import { addTable } from './tables.js';

interface BufferOptions extends Named {
  /** How many keys may be held back. Default: any number. */
  readonly recordsMax?: number;
  /** How many bytes may be held back: of keys, rows and headers as they are stored. Default: any number. */
  readonly bytesMax?: number;
}

/** Forwards the last change of a key when so much time has passed since the first one that was held back. */
export interface TimeLimitOptions extends BufferOptions {
  readonly until: 'timeLimit';
  /** In the records' time, in milliseconds. */
  readonly waitMs: number;
  /**
   * What happens when more would have to be held back than may be: the oldest is forwarded early, or the record fails with
   * `SUPPRESSION_BUFFER_FULL`, which stops the worker unless an error policy says otherwise. Default `emitEarly`.
   */
  readonly whenFull?: 'emitEarly' | 'shutDown';
}

/** Forwards one change for each window, when the window can change no more. */
export interface WindowClosesOptions extends BufferOptions {
  readonly until: 'windowCloses';
  /** A final result cannot be forwarded early. */
  readonly whenFull?: 'shutDown';
}

/** Windows close where the table's keys have windows only. */
export type SuppressOptions<K> = TimeLimitOptions | (K extends Windowed<unknown> ? WindowClosesOptions : never);

export function addSuppress<K, V>(at: TablePosition<K, V>, options: TimeLimitOptions | WindowClosesOptions): TablePosition<K, V> {
  const { scope, lineage, node, table, key, value } = at;
  const name = scope.name(options.name, lineage, 'suppress');
  if (table.isVersioned)
    reportUnsuppressible(scope, name, 'its table is versioned, whose changes need no waiting: read it as of a time instead');
  for (const which of ['key', 'value'] as const)
    if (at[which] === undefined) scope.reportMissingSerde(name, which, 'it keeps what it holds back in a store');
  const suppression = suppressionOf(at, name, options);
  const timeOf = options.until === 'windowCloses' ? endOf : undefined;
  const buffer = new SuppressBuffer(`${name}-buffer`, (key ?? bytes()) as Serde<K>, (value ?? bytes()) as Serde<V>, timeOf);
  const settings = { name, lineage: options.name ?? lineage, stores: [buffer.store], store: undefined, key, value };
  return addTable(scope, node, new SuppressedTable(table, buffer, suppression), settings);
}

function suppressionOf<K, V>(
  { scope, table }: TablePosition<K, V>,
  name: string,
  options: TimeLimitOptions | WindowClosesOptions,
): Suppression<K> {
  const { recordsMax = Number.POSITIVE_INFINITY, bytesMax = Number.POSITIVE_INFINITY } = options;
  const owner = `suppress "${name}"`;
  for (const [option, bound] of Object.entries({ recordsMax, bytesMax }))
    if (bound !== Number.POSITIVE_INFINITY) checkInteger(owner, option, bound, 1, Number.MAX_SAFE_INTEGER);
  const common = { name, recordsMax, bytesMax };
  if (options.until === 'timeLimit') {
    const { waitMs, whenFull = 'emitEarly' } = options;
    checkInteger(owner, 'waitMs', waitMs, 0, Number.MAX_SAFE_INTEGER);
    return { ...common, timeOf: (_key, timestampMs) => timestampMs, waitMs, whenFull, dropsDeletions: false };
  }
  const { closesAfterMs } = table;
  if (closesAfterMs === undefined)
    reportUnsuppressible(
      scope,
      name,
      "its rows do not belong to windows that close. Suppress a table of windowedBy(...), or until: 'timeLimit'",
    );
  return { ...common, timeOf: endOf, waitMs: closesAfterMs ?? 0, whenFull: 'shutDown', dropsDeletions: true };
}

function endOf<K>(key: K): number {
  return (key as Windowed<unknown>).endMs;
}

function reportUnsuppressible(scope: DslScope, name: string, cause: string): void {
  const message = `Operator "${name}" cannot hold changes back: ${cause}.`;
  scope.topology.reportProblem(new InvalidConfigurationError('TOPOLOGY_NOT_SUPPRESSIBLE', message, { node: name }));
}
