import type { CommitPoint } from '@tally/streams';
import type { Draw } from '../plan/draw.js';
import type { Moment, ProcessEvent } from '../plan/plan.js';
import { type DrawSetting, type FaultDefinition, someMachine, someTime, stressedMoment } from './kind.js';

export const commitPoints: readonly CommitPoint[] = [
  'frozen',
  'produced',
  'beforeOffsets',
  'afterOffsets',
  'beforeCommit',
  'afterCommit',
  'beforeFlush',
  'duringFlush',
  'afterFlush',
];

/** Crashes are likelier while writes are pending: most moments lie in a commit or a flush. */
export function someMoment(draw: Draw, setting: DrawSetting, lastsMs = 0): Moment {
  const stressed = stressedMoment(draw, setting, lastsMs);
  if (stressed !== undefined) return stressed;
  const afterMs = someTime(draw, setting, lastsMs);
  const on = draw.weighted<ProcessEvent | 'point'>([
    ['await', 2],
    ['pending', 3],
    ['point', 5],
  ]);
  if (on !== 'point') return { afterMs, on, nth: draw.between(1, 40) };
  return { afterMs, on: draw.oneOf(commitPoints), nth: draw.between(1, 3) };
}

function labelOf({ on }: Moment): string {
  if (on === 'await') return 'kill at an await';
  if (on.startsWith('request ')) return 'kill at a request';
  return on === 'pending' ? 'kill with writes pending' : `kill at ${on}`;
}

export const kill: FaultDefinition<'kill'> = {
  weight: 6,
  labels: [
    'kill at an await',
    'kill at a request',
    'kill with writes pending',
    ...commitPoints.map((point) => `kill at ${point}`),
    'new disk',
  ],
  suits: () => true,
  draw: (draw, setting) => ({
    kind: 'kill',
    machine: someMachine(draw, setting),
    when: someMoment(draw, setting),
    downMs: draw.oneOf([1, 50, 300, 2_500]),
    newDisk: draw.chance(0.15),
  }),
  arm(history, { machine: index, when, downMs, newDisk }) {
    const machine = history.machines[index];
    machine?.arm(when, () => {
      history.fired(labelOf(when));
      if (newDisk) history.fired('new disk');
      machine.crash({ downMs, newDisk });
    });
  },
};
