import { type FaultDefinition, someMachine } from './kind.js';
import { someMoment } from './kill.js';

/** Short ones are like a long garbage collection; after a long one the process wakes up as a zombie. */
export const pause: FaultDefinition<'pause'> = {
  weight: 8,
  labels: ['pause', 'pause beyond the session'],
  suits: () => true,
  draw(draw, setting) {
    const { sessionTimeoutMs } = setting.cluster;
    const durationMs = draw.chance(0.3)
      ? draw.between(10, sessionTimeoutMs)
      : draw.between(sessionTimeoutMs + 200, 2 * sessionTimeoutMs + 2_500);
    return { kind: 'pause', machine: someMachine(draw, setting), when: someMoment(draw, setting, durationMs), durationMs };
  },
  arm(history, { machine: index, when, durationMs }) {
    const machine = history.machines[index];
    machine?.arm(when, () => {
      history.fired(durationMs > history.plan.cluster.sessionTimeoutMs ? 'pause beyond the session' : 'pause');
      machine.process?.pause(durationMs);
    });
  },
};
