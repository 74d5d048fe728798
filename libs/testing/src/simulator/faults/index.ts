/** The kinds of faults, by name. */
import type { FaultKind, PlannedFault } from '../plan/plan.js';
import type { History } from '../world/history.js';
import { clockJump } from './clock-jump.js';
import { cutOff } from './cut-off.js';
import { disk, slowDisk } from './disk.js';
import { slowHandlers } from './handlers.js';
import { commitPoints, kill } from './kill.js';
import type { FaultDefinition } from './kind.js';
import { leave, storm } from './members.js';
import { pause } from './pause.js';
import { refuse } from './refuse.js';
import { lateRequest, lose, reorder, restartBroker, slow, weightedRequests } from './requests.js';
import { stranger } from './stranger.js';
import { compact, expireOffsets, recreate, retention } from './topics.js';

const definitions: { readonly [K in FaultKind]: FaultDefinition<K> } = {
  kill,
  pause,
  leave,
  storm,
  lose,
  slow,
  reorder,
  restartBroker,
  cutOff,
  refuse,
  stranger,
  disk,
  slowDisk,
  clockJump,
  slowHandlers,
  compact,
  retention,
  recreate,
  expireOffsets,
};

export const faultKinds = Object.keys(definitions) as readonly FaultKind[];

export function definitionOf<K extends FaultKind>(kind: K): FaultDefinition<K> {
  return definitions[kind];
}

/** Every name that faults are counted under. */
export const faultLabels: readonly string[] = Object.values(definitions).flatMap(({ labels }) => labels);

export function armFault(history: History, fault: PlannedFault): void {
  arm(history, fault.kind, fault);
}

function arm<K extends FaultKind>(history: History, kind: K, fault: PlannedFault): void {
  definitions[kind].arm(history, fault as Extract<PlannedFault, { readonly kind: K }>);
}

export { commitPoints, lateRequest, weightedRequests };
export type { ApplicationFacts, DrawSetting, FaultSetting } from './kind.js';
