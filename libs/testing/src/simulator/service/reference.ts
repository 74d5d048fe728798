/** What a history of a service is compared with: a run of the same workload in which nothing goes wrong. */
import { isUtf8 } from 'node:buffer';
import { type AnyStoreDefinition, errorOf } from '@tally/streams';
import type { Checker, Model } from '../checkers/index.js';
import type { Expectation } from '../scenarios/scenario.js';
import { textOf } from '../scenarios/scenario.js';
import type { Evidence } from '../world/evidence.js';
import type { Named, SimulateOptions } from './options.js';
import { SimulationResult } from './result.js';

type Comparison = Pick<SimulateOptions, 'unordered' | 'unpredictable' | 'worker'>;

export function referenceModel(reference: Evidence, stores: readonly AnyStoreDefinition[], options: Comparison): Model {
  const unpredictable = namesOf(options.unpredictable);
  const unordered = namesOf(options.unordered);
  const lane: Model['lane'] = ({ topic, key, value }) => {
    const [name, text] = [shown(key), shown(value)];
    // Where the order is not determined, equal records of a key are counted.
    return unordered.has(topic) ? [`${name} with ${text}`, text] : [name, text];
  };
  const expectation = expectationOf(reference, lane, (name) => !unpredictable.has(name), options);
  return {
    lane,
    expect: () => expectation,
    conserved: () => [],
    // Punctuators may write at any time; what they write is unpredictable.
    changesAtRest: stores.some(({ name }) => unpredictable.has(name)),
  };
}

function expectationOf(
  reference: Evidence,
  lane: Model['lane'],
  isCompared: (name: string) => boolean,
  { worker }: Comparison,
): Expectation {
  const outputs = new Map<string, Map<string, string[]>>();
  for (const [topic, records] of reference.eras.at(-1)?.outputs ?? []) {
    // A weaker guarantee repeats or loses: what must hold then only the invariants can say.
    if (!isCompared(topic) || (worker?.guarantee ?? 'exactly-once') !== 'exactly-once') continue;
    const lanes = new Map<string, string[]>();
    for (const record of records) {
      const [name, text] = lane(record);
      const texts = lanes.get(name);
      if (texts === undefined) lanes.set(name, [text]);
      else texts.push(text);
    }
    outputs.set(topic, lanes);
  }
  const stores = [...(reference.queried ?? [])].filter(([name]) => isCompared(name));
  return { outputs, stores: new Map(stores) };
}

function namesOf(named: readonly Named[] = []): ReadonlySet<string> {
  return new Set(named.map(({ name }) => name));
}

function shown(bytes: Uint8Array | null): string {
  if (bytes === null) return 'null';
  return isUtf8(bytes) ? textOf(bytes) : Buffer.from(bytes).toString('hex');
}

/** The invariants of whoever wrote the service, as a checker. */
export function invariantChecker(invariants: SimulateOptions['invariants'] = {}): Checker {
  return {
    name: 'invariant',
    check({ evidence }) {
      const era = evidence.eras.at(-1);
      if (era?.complete !== true) return [];
      const result = new SimulationResult(evidence.plan.seed, (topic) => evidence.recordsOf(topic), evidence.entries);
      return Object.entries(invariants).flatMap(([says, holds]) => {
        try {
          holds(result);
          return [];
        } catch (error) {
          return [`'${says}' does not hold: ${errorOf(error).message}`];
        }
      });
    },
  };
}
