import type { Hooks } from '@tally/streams';

/** Tells the benchmark when the tasks of all partitions run. */
export function runningReporter(partitions: number): Hooks {
  const running = new Set<string>();
  return {
    taskPhase(task, phase) {
      if (phase === 'running') running.add(task);
      else running.delete(task);
      if (phase === 'running' && running.size === partitions) process.stdout.write('state running\n');
    },
  };
}
