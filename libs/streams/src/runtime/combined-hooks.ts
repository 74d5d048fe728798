/** Several hooks as one. */
import type { CommitPoint, Hooks } from './hooks.js';

type Method = Exclude<keyof Hooks, 'tracer' | 'commitPoint'>;

/** Every hook; the compiler sees to it that none is forgotten. */
const methods: Readonly<Record<Method, true>> = {
  workerPhase: true,
  taskPhase: true,
  batch: true,
  processed: true,
  committed: true,
  aborted: true,
  producerReplaced: true,
  assigned: true,
  revoked: true,
  restored: true,
  rebuilt: true,
  flushed: true,
  recordFailed: true,
};

/** All of them are called, in this order; what none of them has is absent, so that it costs nothing. The first tracer is the tracer. */
export function combineHooks(all: readonly Hooks[]): Hooks {
  const combined: Record<string, unknown> = {};
  for (const name of Object.keys(methods) as Method[]) {
    const having = all.filter((hooks) => hooks[name] !== undefined);
    if (having.length === 0) continue;
    combined[name] = (...args: never[]): void => {
      for (const hooks of having) (hooks[name] as (...args: never[]) => void).apply(hooks, args);
    };
  }
  const tracer = all.find((hooks) => hooks.tracer !== undefined)?.tracer;
  if (tracer !== undefined) combined['tracer'] = tracer;
  const holding = all.filter((hooks) => hooks.commitPoint !== undefined);
  if (holding.length > 0) combined['commitPoint'] = (point: CommitPoint, epoch: number) => commitPoint(holding, point, epoch);
  return combined;
}

function commitPoint(all: readonly Hooks[], point: CommitPoint, epoch: number): void | Promise<void> {
  const held = all.flatMap((hooks) => hooks.commitPoint?.(point, epoch) ?? []);
  if (held.length > 0) return Promise.all(held).then(() => undefined);
}
