/**
 * What a seed has more of than chance alone would give it: kinds of faults, one request that they meet, one moment in a process's life, and
 * times at which they gather. Faults that do harm only together would otherwise hardly ever meet.
 */
import type { RequestName } from '../../broker/index.js';
import type { Draw } from './draw.js';
import type { FaultKind, ProcessEvent } from './plan.js';

export interface Emphasis {
  readonly kinds: ReadonlySet<FaultKind>;
  readonly request: RequestName | undefined;
  readonly event: ProcessEvent | undefined;
  /** From the start of the history. Empty: faults come at any time. */
  readonly timesMs: readonly number[];
}

export interface EmphasisChoices {
  readonly kinds: readonly FaultKind[];
  readonly requests: readonly (readonly [RequestName, number])[];
  readonly events: readonly ProcessEvent[];
  readonly durationMs: number;
}

const kindsMax = 3;
const timesMax = 3;

/** Kinds that a stressed moment and a stressed request are nothing without. */
const momentary: readonly FaultKind[] = ['pause', 'kill', 'cutOff'];
const ofRequests: readonly FaultKind[] = ['lose', 'slow'];

/** Each part is drawn by itself, and left out by about as many seeds as have it. */
export function drawEmphasis(draw: Draw, { kinds, requests, events, durationMs }: EmphasisChoices): Emphasis {
  const some = <T>(max: number, one: () => T): readonly T[] => (draw.chance(0.4) ? [] : Array.from({ length: draw.between(1, max) }, one));
  const stressed = new Set(some(kindsMax, () => draw.oneOf(kinds)));
  const withKind = (among: readonly FaultKind[]): void => {
    const kind = draw.oneOf(among);
    if (draw.chance(0.6) && kinds.includes(kind)) stressed.add(kind);
  };
  const request = draw.chance(0.5) ? draw.weighted(requests) : undefined;
  if (request !== undefined) withKind(ofRequests);
  const event = draw.chance(0.6) ? draw.oneOf(events) : undefined;
  if (event !== undefined) withKind(momentary);
  return { kinds: stressed, request, event, timesMs: some(timesMax, () => draw.between(50, Math.floor(durationMs * 0.8))) };
}
