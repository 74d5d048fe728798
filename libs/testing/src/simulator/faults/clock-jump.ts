import { type FaultDefinition, someMachine, someTime } from './kind.js';

const minuteMs = 60_000;
/** What is stamped more than an hour ahead the cluster refuses, as if the application were wrong. */
const aheadMsMax = 45 * minuteMs;

export const clockJump: FaultDefinition<'clockJump'> = {
  weight: 2,
  labels: ['clock forward', 'clock backward'],
  suits: () => true,
  draw: (draw, setting) => ({
    kind: 'clockJump',
    machine: someMachine(draw, setting),
    when: { afterMs: someTime(draw, setting), on: 'await', nth: 1 },
    byMs: draw.oneOf([1, -1]) * draw.oneOf([draw.between(1, 2_000), draw.between(2_000, minuteMs), 40 * minuteMs]),
  }),
  arm(history, { machine: index, when, byMs: drawnMs }) {
    const machine = history.machines[index];
    machine?.arm(when, () => {
      const aheadMs = machine.clock?.wallClockOffsetMs ?? 0;
      const byMs = aheadMs + drawnMs > aheadMsMax ? -drawnMs : drawnMs;
      history.fired(byMs > 0 ? 'clock forward' : 'clock backward');
      // Positions may look too old to be trusted now, on whichever machine compares them.
      if (Math.abs(byMs) >= history.plan.worker.tombstoneRetentionMs / 2) history.evidence.reasonsToRebuild.add('clock');
      machine.process?.jumpWallClock(byMs);
    });
  },
};
