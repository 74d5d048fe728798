import { sleep } from '@tally/streams';
import type { History } from '../world/history.js';
import { type FaultDefinition, someMachine, someTime } from './kind.js';

export const leave: FaultDefinition<'leave'> = {
  weight: 2,
  labels: ['leave'],
  suits: () => true,
  draw: (draw, setting) => ({
    kind: 'leave',
    machine: someMachine(draw, setting),
    when: { afterMs: someTime(draw, setting), on: draw.oneOf(['await', 'pending']), nth: draw.between(1, 40) },
    downMs: draw.oneOf([1, 200, 1_500]),
  }),
  arm(history, { machine: index, when, downMs }) {
    const machine = history.machines[index];
    machine?.arm(when, () => {
      history.fired('leave');
      void machine.leave(downMs);
    });
  },
};

export const storm: FaultDefinition<'storm'> = {
  weight: 2,
  labels: ['rebalance storm'],
  suits: () => true,
  draw: (draw, setting) => ({
    kind: 'storm',
    atMs: someTime(draw, setting),
    visits: draw.between(3, 6),
    stayMs: draw.between(20, 400),
    ends: draw.oneOf(['leave', 'kill']),
  }),
  arm(history, { atMs, visits, stayMs, ends }) {
    history.clock.after(atMs, () => {
      history.fired('rebalance storm');
      void visit(history, visits, stayMs, ends);
    });
  },
};

/** One visitor after another joins the group and is gone soon, the next one while the last may still be leaving. */
async function visit(history: History, visits: number, stayMs: number, ends: 'leave' | 'kill'): Promise<void> {
  for (let count = 0; count < visits && !history.isHealing && !history.era.isEnding; count += 1) {
    const visitor = history.addVisitor();
    visitor.start();
    await sleep(history.clock, stayMs);
    if (ends === 'kill') visitor.crash();
    else void visitor.leave();
  }
}
