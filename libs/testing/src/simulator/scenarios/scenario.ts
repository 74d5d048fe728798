/**
 * A small application with a model of what it must do. The model is computed from the input alone and shares no code with the engine.
 *
 * Where records of several partitions meet, their order is not determined. So outputs are compared by *lanes*: a lane's records come from
 * one input partition and lie in one output partition, which fixes their order. What lanes cannot say (running sums over several of them)
 * is said by `conserved`.
 */
import type { AnyStoreDefinition, ConsumedRecord, ErrorPolicies, Guarantee, Topology } from '@tally/streams';
import type { Draw } from '../plan/draw.js';

export interface ScenarioTopic {
  readonly name: string;
  readonly config?: Readonly<Record<string, string>>;
}

/** What a topology is given of the process it runs in. */
export interface ScenarioProcess {
  /** Waits for a moment of the process's time, as a handler does that calls another service. */
  readonly pause: () => Promise<void>;
}

export interface InputRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly value: Uint8Array;
  readonly timestampMs: number;
}

export interface DrawnRecord {
  readonly topic: string;
  readonly key: string;
  readonly value: Uint8Array;
}

/** Entries of a lane or of a store, as text. A lane's entry begins with what identifies it, up to the first colon. */
export interface Expectation {
  /** By topic and lane. */
  readonly outputs: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
  /** By store and key. A store that is not named is compared with its changelog only. */
  readonly stores: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** What was written and is held, for checks of sums. */
export interface Result {
  /** Everything has been processed; else what is there is some beginning. */
  readonly complete: boolean;
  readonly inputs: readonly InputRecord[];
  /** By topic, each partition in order. */
  readonly outputs: ReadonlyMap<string, readonly ConsumedRecord[]>;
  /** By store, key and text; empty unless complete. */
  readonly stores: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

export interface Scenario {
  readonly name: string;
  readonly weight: number;
  readonly guarantees: readonly Guarantee[];
  /** The topics it reads. */
  readonly inputs: readonly ScenarioTopic[];
  readonly outputs: readonly ScenarioTopic[];
  readonly stores: readonly AnyStoreDefinition[];
  readonly errors?: ErrorPolicies;
  /** Every task has a store, so that lost offsets and topics cannot pass unnoticed. */
  readonly isStateful: boolean;
  /** Whether it has asynchronous handlers. */
  readonly isAsynchronous: boolean;
  /** Its stores change while nothing arrives. */
  readonly changesAtRest?: boolean;
  /** It needs many more commits than others, so that each must be quick. */
  readonly commitsOften?: boolean;
  /** Bound of buffers that its values can fill; else a large one. */
  readonly bufferBytesMax?: number;
  topology(process: ScenarioProcess): Topology;
  /** @param id of the record; it tells where the record comes from, see `idOf`. */
  record(draw: Draw, id: number, partition: number): DrawnRecord;
  /** Lane and text of an output. */
  lane(record: ConsumedRecord): readonly [lane: string, text: string];
  storeText(store: string, value: unknown): string;
  /** @param inputs each partition in order. */
  expect(inputs: readonly InputRecord[]): Expectation;
  /** @returns what is wrong with the sums; empty when they are right. */
  conserved(result: Result): string[];
}

/** An id that tells its record's partition, and its side where a scenario reads two topics. Ids grow with the ordinal. */
export function idOf(ordinal: number, origin: Origin): number {
  return ordinal * 16 + origin.partition * 2 + origin.side;
}

export interface Origin {
  /** 0 to 7. */
  readonly partition: number;
  readonly side: 0 | 1;
}

export function originOf(id: number): Origin {
  return { partition: (id >> 1) & 7, side: (id & 1) === 0 ? 0 : 1 };
}

export const exactly: readonly Guarantee[] = ['exactly-once'];

export function textOf(bytes: Uint8Array | null): string {
  return bytes === null ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Collects texts by topic and lane. */
export class Lanes {
  readonly byTopic = new Map<string, Map<string, string[]>>();

  constructor(topics: readonly ScenarioTopic[]) {
    for (const { name } of topics) this.byTopic.set(name, new Map());
  }

  add(topic: string, lane: string, text: string): void {
    const lanes = this.byTopic.get(topic);
    if (lanes === undefined) throw new Error(`The scenario does not name the output topic ${topic}.`);
    const texts = lanes.get(lane);
    if (texts === undefined) lanes.set(lane, [text]);
    else texts.push(text);
  }
}
