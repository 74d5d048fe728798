import { type FaultDefinition, someMachine, someTime } from './kind.js';

export const slowHandlers: FaultDefinition<'slowHandlers'> = {
  weight: 2,
  labels: ['slow handler', 'hung handler'],
  suits: ({ application }) => application.isAsynchronous,
  draw(draw, setting) {
    const hung = setting.application.forgivesDeadlines && draw.chance(0.5);
    const { handlerDeadlineMs } = setting.worker;
    const delayMs = hung ? handlerDeadlineMs + draw.between(1, 2_000) : draw.between(5, Math.floor(handlerDeadlineMs * 0.9));
    const when = { afterMs: someTime(draw, setting), on: 'await', nth: 1 } as const;
    return { kind: 'slowHandlers', machine: someMachine(draw, setting), when, hung, delayMs, times: draw.between(1, 4) };
  },
  arm(history, { machine: index, when, hung, delayMs, times }) {
    const machine = history.machines[index];
    machine?.arm(when, () => machine.slowHandlers(delayMs, times, () => history.fired(hung ? 'hung handler' : 'slow handler')));
  },
};
