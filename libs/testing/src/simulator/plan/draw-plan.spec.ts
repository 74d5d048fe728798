import { seededRandom } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { commitPoints, definitionOf, type DrawSetting, faultKinds, weightedRequests } from '../faults/index.js';
import { Draw } from './draw.js';
import { drawPlan } from './draw-plan.js';
import { drawEmphasis, type Emphasis } from './emphasis.js';
import type { PlannedFault } from './plan.js';

const seeds = Array.from({ length: 200 }, (_, index) => index + 1);
const durationMs = 10_000;

function emphasisOf(seed: number): Emphasis {
  const draw = new Draw(seededRandom(seed));
  return drawEmphasis(draw, { kinds: faultKinds, requests: weightedRequests, events: commitPoints, durationMs });
}

/** Faults of one kind, drawn again and again for a seed that stresses something. */
function draws(kind: PlannedFault['kind'], stressed: Partial<Emphasis>): readonly PlannedFault[] {
  const { machines, worker, cluster } = drawPlan(1);
  const emphasis = { kinds: new Set<never>(), request: undefined, event: undefined, timesMs: [], ...stressed };
  const application = {
    hasStores: true,
    isStateful: true,
    joinsTopics: true,
    isAsynchronous: true,
    forgivesDeadlines: true,
    survivesLostTopics: true,
  };
  const setting: DrawSetting = { machines, worker, cluster, durationMs, application, emphasis };
  const draw = new Draw(seededRandom(1));
  return Array.from({ length: 200 }, () => definitionOf(kind).draw(draw, setting));
}

const share = <T>(all: readonly T[], is: (one: T) => boolean): number => all.filter(is).length / all.length;

describe('the plan of a seed', () => {
  it('is the same each time, and another for another seed', () => {
    expect(drawPlan(7)).toEqual(drawPlan(7));
    expect(drawPlan(8).load).not.toEqual(drawPlan(7).load);
  });

  it('stresses each of the things that can be stressed for some seeds, and for some not', () => {
    const all = seeds.map(emphasisOf);
    for (const is of [
      ({ kinds }: Emphasis) => kinds.size > 0,
      ({ request }: Emphasis) => request !== undefined,
      ({ event }: Emphasis) => event !== undefined,
      ({ timesMs }: Emphasis) => timesMs.length > 0,
    ]) {
      expect(share(all, is)).toBeGreaterThan(0.3);
      expect(share(all, is)).toBeLessThan(0.9);
    }
    expect(new Set(all.flatMap(({ request }) => request ?? []))).toEqual(new Set(weightedRequests.map(([name]) => name)));
  });

  it('has a stressed kind of fault again and again', () => {
    const most = seeds.map((seed) => {
      const counts = new Map<string, number>();
      for (const { kind } of drawPlan(seed).faults) counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return Math.max(...counts.values());
    });
    expect(share(most, (count) => count >= 5)).toBeGreaterThan(0.2);
    expect(share(most, (count) => count <= 2)).toBeGreaterThan(0.1);
  });

  it('has its faults meet a stressed request, a stressed moment, and one another', () => {
    const isLost = (fault: PlannedFault): boolean => 'request' in fault && fault.request === 'endTransaction';
    expect(share(draws('lose', { request: 'endTransaction' }), isLost)).toBeGreaterThan(0.6);
    expect(share(draws('lose', {}), isLost)).toBeLessThan(0.3);
    const isPaused = (fault: PlannedFault): boolean => 'when' in fault && fault.when.on === 'afterCommit';
    expect(share(draws('pause', { event: 'afterCommit' }), isPaused)).toBeGreaterThan(0.5);
    expect(share(draws('pause', {}), isPaused)).toBeLessThan(0.2);
    const isNear = (fault: PlannedFault): boolean => 'atMs' in fault && fault.atMs >= 3_000 && fault.atMs <= 3_500;
    expect(share(draws('storm', { timesMs: [3_000] }), isNear)).toBeGreaterThan(0.6);
    expect(share(draws('storm', {}), isNear)).toBeLessThan(0.2);
  });
});
