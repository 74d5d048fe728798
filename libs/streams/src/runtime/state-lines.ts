/** The log of a worker that goes well: one line for each change of its state, none per record. What goes wrong is said where it happens. */
import { partitionName } from '../core/record.js';
import type { Hooks, Logger } from './hooks.js';

export function stateLines(logger: Logger): Hooks {
  return {
    workerPhase(phase) {
      if (phase !== 'failed') logger.info(`The worker is ${phase}.`, { phase });
    },
    taskPhase(task, phase) {
      logger.debug(`Task ${task} is ${phase}.`, { task, phase });
    },
    assigned(partitions) {
      logger.info(`Partitions were assigned: ${partitions.map(partitionName).join(', ')}.`, { partitions: partitions.length });
    },
    revoked(partitions, lost) {
      if (!lost) logger.info(`Partitions are given back: ${partitions.map(partitionName).join(', ')}.`, { partitions: partitions.length });
    },
    restored(task, store, records, durationMs) {
      if (records === 0) return;
      logger.info(`Store '${store}' of task ${task} was restored: ${records} records in ${Math.round(durationMs)} ms.`, {
        task,
        store,
        records,
      });
    },
  };
}
