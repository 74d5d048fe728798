/** The committed output is the model's, as a sequence per lane; as far as the guarantee goes. */
import type { Guarantee } from '@tally/streams';
import type { EraEvidence } from '../world/evidence.js';
import type { Checker, Model } from './checker.js';

export const output: Checker = {
  name: 'output',
  check: ({ evidence, model, guarantee }) => evidence.eras.flatMap((era) => compareEra(era, model, guarantee)),
};

function compareEra(era: EraEvidence, model: Model, guarantee: Guarantee): string[] {
  const problems: string[] = [];
  for (const [topic, expected] of model.expect(era.inputs).outputs) {
    const actual = lanesOf(era, topic, model);
    for (const lane of new Set([...expected.keys(), ...actual.keys()])) {
      const problem = comparisons[guarantee](expected.get(lane) ?? [], actual.get(lane) ?? [], era.complete);
      if (problem !== undefined) problems.push(`${topic} of ${lane}: ${problem}`);
    }
  }
  return problems;
}

function lanesOf({ outputs }: EraEvidence, topic: string, model: Model): Map<string, string[]> {
  const lanes = new Map<string, string[]>();
  for (const record of outputs.get(topic) ?? []) {
    const [lane, text] = model.lane(record);
    const texts = lanes.get(lane);
    if (texts === undefined) lanes.set(lane, [text]);
    else texts.push(text);
  }
  return lanes;
}

type Comparison = (expected: readonly string[], actual: readonly string[], complete: boolean) => string | undefined;

const comparisons: Readonly<Record<Guarantee, Comparison>> = {
  'exactly-once'(expected, actual, complete) {
    const differs = actual.findIndex((text, index) => text !== expected[index]);
    if (differs >= 0) return `record ${differs} is ${actual[differs]}, expected ${expected[differs] ?? 'nothing more'}`;
    if (complete && actual.length < expected.length) return `ends after ${actual.length} records, expected ${expected[actual.length]} next`;
    return undefined;
  },

  /** Repeated, but never skipped. */
  'at-least-once'(expected, actual, complete) {
    let reached = 0;
    for (const text of actual) {
      const index = expected.indexOf(text);
      if (index < 0) return `holds ${text}, which nothing explains`;
      if (index > reached) return `holds ${text} before ${expected[reached]}`;
      reached = Math.max(reached, index + 1);
    }
    return complete && reached < expected.length ? `lacks ${expected[reached]}` : undefined;
  },

  /**
   * Lost, but never repeated. What is lost changes what is said of later records, so only what identifies them is compared; and what a
   * process had handed to its client before it was stopped may come when it goes on, behind the outputs of its successor.
   */
  'at-most-once'(expected, actual) {
    const left = new Set(expected.map(idOfText));
    const surplus = actual.find((text) => !left.delete(idOfText(text)));
    return surplus === undefined ? undefined : `holds ${surplus} once more than anything explains`;
  },
};

function idOfText(text: string): string {
  return text.split(':', 1)[0] ?? '';
}
