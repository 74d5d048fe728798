/** What the steps of a task's opening share. */

/** Counts of a restore under way, in changelog offsets. */
export interface RestoreProgress {
  done: number;
  total: number;
}

/** Thrown when the task was taken away while it was being opened; nobody reports it. */
export class OpeningCancelledError extends Error {
  override readonly name = 'OpeningCancelledError';
}
