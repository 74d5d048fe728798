import { type DrawSetting, type FaultDefinition, someMachine, someTime, stressedMoment } from './kind.js';
import type { Draw } from '../plan/draw.js';
import type { Moment } from '../plan/plan.js';

function someRequest(draw: Draw, setting: DrawSetting, lastsMs: number): Moment {
  const on = draw.weighted<Moment['on']>([
    ['await', 1],
    ['pending', 1],
    ['request produce', 1],
    ['request commitTransactionOffsets', 1],
    ['request endTransaction', 2],
  ]);
  return { afterMs: someTime(draw, setting, lastsMs), on, nth: draw.between(1, 3) };
}

/** A network that is cut between one machine and the cluster: the request that is under way may still take effect, all others are lost. */
export const cutOff: FaultDefinition<'cutOff'> = {
  weight: 3,
  labels: ['cut off'],
  suits: () => true,
  draw(draw, setting) {
    const { sessionTimeoutMs } = setting.cluster;
    // Long enough, and the others have taken over when it is back.
    const isShort = draw.chance(0.3);
    const durationMs = isShort ? draw.between(200, sessionTimeoutMs) : draw.between(sessionTimeoutMs + 200, 2 * sessionTimeoutMs + 2_500);
    const when = stressedMoment(draw, setting, durationMs) ?? someRequest(draw, setting, durationMs);
    return { kind: 'cutOff', machine: someMachine(draw, setting), when, durationMs };
  },
  arm(history, { machine: index, when, durationMs }) {
    const machine = history.machines[index];
    machine?.arm(when, () => {
      history.fired('cut off');
      machine.cutOff(durationMs);
    });
  },
};
