/** The last export: by then the service has stopped, and whoever stopped it waits. */

/** How long it may take, in milliseconds: receivers may hang. */
const lastExportMs = 3_000;
const signals = ['SIGTERM', 'SIGINT'] as const;

/**
 * Calls the action once, when the process is about to end: when nothing is left to do, or by a signal that nobody else handles any more. A
 * service that handles the signal is let go first; it ends by raising the signal again when it has stopped, as Nest does.
 *
 * @returns the action, for who ends it earlier
 */
export function exportBeforeExit(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  const once = (): Promise<void> => (done ??= within(lastExportMs, action()));
  const onSignal = (signal: NodeJS.Signals): void => {
    if (process.listenerCount(signal) > 1) return;
    void once().finally(() => {
      process.off(signal, onSignal);
      process.kill(process.pid, signal);
    });
  };
  for (const signal of signals) process.on(signal, onSignal);
  process.once('beforeExit', () => void once());
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
    return once();
  };
}

/** Resolves when the promise has settled, however, or the time is over. */
async function within(durationMs: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, durationMs);
  });
  await Promise.race([promise.catch(() => undefined), over]);
  clearTimeout(timer);
}
