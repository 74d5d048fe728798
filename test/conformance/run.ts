/** Runs a scenario on Tally's test driver and shows what came of it, as the oracle does. */
import { errorOf, type Header, type Topology, type WorkerOptions } from '@tally/streams';
import { type EmittedRecord, TopologyTestDriver } from '@tally/testing';
import { interpret } from './interpret.js';
import { type Build, NotInterpretedError } from './node.js';
import type { Observation, RecordEvent, Result, ResultRecord, Scenario, StoreRow } from './scenario.js';
import { type Reading, rowsOf } from './stores.js';
import { type Data, nullableSerdeOf, parsed, shown, textOf, type Type } from './types.js';

/** The name of the oracle's application: it shows in the names of internal topics. */
const applicationId = 'oracle';

/** Told when the events of a scenario begin and when they have been processed. */
export interface Around {
  begin(): void;
  end(): void;
}

/** @throws NotInterpretedError */
export async function runScenario(scenario: Scenario, around?: Around): Promise<Result> {
  const observed: Observation[] = [];
  const outputs: ResultRecord[] = [];
  let event = -1;
  const end = (rest: Partial<Result>): Result => ({
    name: scenario.name,
    outputs,
    ...(observed.length === 0 ? {} : { observed }),
    stores: {},
    dropped: 0,
    ...rest,
  });
  let run: Run | undefined;
  try {
    const { topology, build } = interpret(scenario, (id, { key, value }, k, v) => {
      observed.push({ ...(event < 0 ? {} : { event }), id, key: k === null ? null : textOf(k, key), value: shown(v, value) });
    });
    run = new Run(scenario, topology, build);
    await run.start();
    around?.begin();
    for (const each of scenario.events) {
      event++;
      try {
        if ('advanceWallClockMs' in each) await run.advance(each.advanceWallClockMs);
        else await run.pipe(each);
      } finally {
        outputs.push(...run.readOutputs(event));
      }
    }
    around?.end();
    return end({ stores: await run.readStores(), dropped: run.dropped });
  } catch (error) {
    if (error instanceof NotInterpretedError) throw error;
    const { name, message } = errorOf(error);
    return end({ dropped: run?.dropped ?? 0, error: `${name}: ${message}`, ...(event < 0 ? {} : { errorEvent: event }) });
  } finally {
    around?.end();
    await run?.close();
  }
}

class Run {
  private readonly driver: TopologyTestDriver;
  private readonly application: ReturnType<TopologyTestDriver['createWorker']>;
  private wallClockMs: number;

  constructor(
    scenario: Scenario,
    topology: Topology,
    private readonly build: Build,
  ) {
    this.wallClockMs = scenario.startWallClockMs ?? 0;
    this.driver = new TopologyTestDriver({ startMs: this.wallClockMs });
    this.application = this.driver.createWorker({ topology }, { applicationId, stateDirectory: 'memory', ...workerOptions(scenario) });
  }

  start(): Promise<void> {
    return this.application.start();
  }

  close(): Promise<void> {
    return this.driver.close();
  }

  get dropped(): number {
    const { recordsDropped, recordsSkipped } = this.application.health().counters;
    return recordsDropped + recordsSkipped;
  }

  async advance(durationMs: number): Promise<void> {
    this.wallClockMs += durationMs;
    await this.driver.advance(durationMs);
  }

  async pipe({ topic, key, value, ts, headers = [] }: RecordEvent): Promise<void> {
    const input = this.build.inputs.get(topic);
    if (input === undefined) throw new Error(`No operator reads topic ${topic}.`);
    await this.driver.input(input.topic).pipe(parsed(key, input.key), parsed(value, input.value), {
      timestampMs: ts ?? this.wallClockMs,
      headers: headers.map(([name, of]): Header => ({ name, value: Buffer.from(of ?? '') })),
    });
  }

  /** Everything but what went to internal topics. */
  readOutputs(event: number): ResultRecord[] {
    return this.driver.readEmitted().flatMap((record) => {
      const types = this.build.outputs.get(record.topic);
      return types === undefined ? [] : [resultRecord(event, record, types)];
    });
  }

  async readStores(): Promise<Record<string, readonly StoreRow[]>> {
    const reading: Reading = {
      query: (handle) => this.application.query(handle),
    };
    const stores: [string, readonly StoreRow[]][] = [];
    for (const [name, store] of this.build.stores) stores.push([name, await rowsOf(store, reading, this.build)]);
    return Object.fromEntries(stores);
  }
}

/** Handlers that go on after an error skip the record; without them the worker stops, as Kafka Streams does. */
function workerOptions({ config = {} }: Scenario): Partial<WorkerOptions> {
  const skips = (category: string): boolean => String(config[`${category}.exception.handler`]).includes('LogAndContinue');
  const skip = { action: 'skip' } as const;
  return {
    // As the oracle's driver, whose transactions leave no marks between the records of internal topics.
    guarantee: 'at-least-once',
    errors: { ...(skips('deserialization') ? { deserialization: skip } : {}), ...(skips('processing') ? { processing: skip } : {}) },
  };
}

function resultRecord(
  event: number,
  { topic, key, value, timestampMs, headers }: EmittedRecord,
  types: { readonly key: Type; readonly value: Type },
): ResultRecord {
  const decoded = (bytes: Uint8Array | null, type: Type): Data => (bytes === null ? null : nullableSerdeOf(type).deserialize(bytes));
  const keyData = decoded(key, types.key);
  return {
    event,
    topic,
    key: keyData === null ? null : textOf(keyData, types.key),
    value: shown(decoded(value, types.value), types.value),
    timestamp: timestampMs,
    ...(headers.length === 0 ? {} : { headers: headers.map(({ name, value: of }) => [name, Buffer.from(of).toString()] as const) }),
  };
}
