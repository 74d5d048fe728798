import type { DiskError } from '../plan/plan.js';
import { type FaultDefinition, someMachine, someTime } from './kind.js';

const labels: Readonly<Record<DiskError, string>> = {
  read: 'disk cannot be read',
  write: 'disk cannot be written',
  sync: 'disk cannot be synced',
  full: 'disk full',
};

export const disk: FaultDefinition<'disk'> = {
  weight: 3,
  labels: Object.values(labels),
  suits: ({ application }) => application.hasStores,
  draw: (draw, setting) => ({
    kind: 'disk',
    machine: someMachine(draw, setting),
    when: { afterMs: someTime(draw, setting), on: 'await', nth: 1 },
    error: draw.oneOf(['read', 'write', 'sync', 'full']),
    times: 1,
  }),
  arm(history, { machine: index, when, error, times }) {
    const machine = history.machines[index];
    machine?.arm(when, () => {
      machine.disk.failNext(error, times, () => {
        history.fired(labels[error]);
        machine.diskErrors += 1;
        if (error === 'read') history.evidence.reasonsToRebuild.add(machine.name);
      });
    });
  },
};

export const slowDisk: FaultDefinition<'slowDisk'> = {
  weight: 1,
  labels: ['slow disk'],
  suits: ({ application }) => application.hasStores,
  draw: (draw, setting) => ({
    kind: 'slowDisk',
    machine: someMachine(draw, setting),
    when: { afterMs: someTime(draw, setting), on: 'await', nth: 1 },
    durationMs: draw.between(300, 1_500),
    delayMsMax: draw.oneOf([50, 800]),
  }),
  arm(history, { machine: index, when, durationMs, delayMsMax }) {
    const machine = history.machines[index];
    machine?.arm(when, () => {
      history.fired('slow disk');
      machine.disk.slowUntilMs = history.elapsedMs + durationMs;
      machine.disk.slowMsMax = delayMsMax;
    });
  },
};
