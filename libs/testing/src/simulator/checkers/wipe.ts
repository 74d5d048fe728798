/** Nothing is wiped by a crash: a store is rebuilt, and a database deleted, only for a reason. */
import type { Checker } from './checker.js';

export const wipe: Checker = {
  name: 'wipe',
  check({ evidence }) {
    const { rebuilds, destroyed, reasonsToRebuild } = evidence;
    const hasReason = (machine: string): boolean => ['changelog', 'clock', machine].some((reason) => reasonsToRebuild.has(reason));
    return [
      ...rebuilds
        .filter(({ machine }) => !hasReason(machine))
        .map(({ machine, task, store, reason }) => `${machine} rebuilt store ${store} of task ${task}: ${reason}`),
      ...destroyed
        .filter((name) => !reasonsToRebuild.has(name.slice(0, name.indexOf(' '))))
        .map((name) => `a database was deleted: ${name}`),
    ];
  },
};
