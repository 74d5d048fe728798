/** A broken invariant of Tally itself: always a bug, never bad input. Stays on in production. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(`Tally invariant broken: ${message}. Please report this.`);
}
