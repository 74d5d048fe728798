import type { RequestName } from '../../broker/index.js';
import type { Draw } from '../plan/draw.js';
import type { Moment } from '../plan/plan.js';
import { type DrawSetting, type FaultDefinition, someMachine, someTime } from './kind.js';

const requests: readonly (readonly [RequestName, number])[] = [
  ['initProducer', 1],
  ['addPartitions', 2],
  ['addOffsets', 2],
  ['commitTransactionOffsets', 3],
  ['endTransaction', 5],
  ['produce', 3],
  ['fetch', 2],
  ['heartbeat', 2],
  ['leaveGroup', 1],
  ['describeTopics', 1],
  ['listOffsets', 2],
  ['stableOffsets', 2],
  ['commitOffsets', 2],
];
/** Calls that wait in the client's own queue, as while it looks for a coordinator: they can be late, also by much, and never lost. */
const queuedCalls: readonly (readonly [RequestName, number])[] = [['sendOffsets', 8]];
const isQueued = (request: RequestName): boolean => queuedCalls.some(([name]) => name === request);

/** What can be lost or late, by how likely it is. */
export const weightedRequests: readonly (readonly [RequestName, number])[] = [...requests, ...queuedCalls];

function someRequest(draw: Draw, { emphasis }: DrawSetting, among: readonly (readonly [RequestName, number])[]): RequestName {
  const stressed = among.find(([name]) => name === emphasis.request)?.[0];
  return stressed !== undefined && draw.chance(0.7) ? stressed : draw.weighted(among);
}

/** A request that arrived after its producer had given up on it and been closed. */
export const lateRequest = 'late request';

function soon(draw: Draw, setting: DrawSetting): Moment {
  return { afterMs: someTime(draw, setting), on: 'await', nth: 1 };
}

export const lose: FaultDefinition<'lose'> = {
  weight: 5,
  labels: ['request lost', 'answer lost'],
  suits: () => true,
  draw: (draw, setting) => ({
    kind: 'lose',
    what: draw.oneOf(['request', 'answer']),
    machine: someMachine(draw, setting),
    when: soon(draw, setting),
    request: someRequest(draw, setting, requests),
    // Twenty in a row: a broker that holds the partition, the group or the transaction does not answer for a while.
    times: draw.oneOf([1, 1, 2, 20]),
  }),
  arm(history, { what, machine: index, when, request, times }) {
    const machine = history.machines[index];
    machine?.arm(when, () => machine.faultNext(request, { lose: what }, times, () => history.fired(`${what} lost`)));
  },
};

export const slow: FaultDefinition<'slow'> = {
  weight: 4,
  labels: ['slow request', lateRequest],
  suits: () => true,
  draw(draw, setting) {
    const request = someRequest(draw, setting, weightedRequests);
    return {
      kind: 'slow',
      machine: someMachine(draw, setting),
      when: soon(draw, setting),
      request,
      delayMs: draw.oneOf(isQueued(request) ? [30, 300, 3_000, 6_000] : [0, 30, 300, 1_500, 6_000]),
      answerDelayMs: draw.oneOf([0, 30, 300, 1_500]),
      times: draw.between(1, 3),
    };
  },
  arm(history, { machine: index, when, request, delayMs, answerDelayMs, times }) {
    const machine = history.machines[index];
    machine?.arm(when, () => machine.faultNext(request, { delayMs, answerDelayMs }, times, () => history.fired('slow request')));
  },
};

export const reorder: FaultDefinition<'reorder'> = {
  weight: 2,
  labels: ['reordered answers'],
  suits: () => true,
  draw: (draw, setting) => ({
    kind: 'reorder',
    machine: someMachine(draw, setting),
    when: soon(draw, setting),
    durationMs: draw.between(200, 1_500),
    delayMsMax: draw.oneOf([5, 40, 200]),
  }),
  arm(history, { machine: index, when, durationMs, delayMsMax }) {
    const machine = history.machines[index];
    machine?.arm(when, () => {
      history.fired('reordered answers');
      machine.reorderUntilMs = history.elapsedMs + durationMs;
      machine.reorderMsMax = delayMsMax;
    });
  },
};

export const restartBroker: FaultDefinition<'restartBroker'> = {
  weight: 2,
  labels: ['broker restart'],
  suits: () => true,
  draw: (draw, setting) => ({ kind: 'restartBroker', atMs: someTime(draw, setting), durationMs: draw.oneOf([20, 300, 1_000, 3_000]) }),
  arm(history, { atMs, durationMs }) {
    const { cluster, clock } = history;
    clock.after(atMs, () => {
      if (!cluster.isAvailable || history.isHealing) return;
      history.fired('broker restart');
      cluster.stop();
      clock.after(durationMs, () => cluster.start());
    });
  },
};
