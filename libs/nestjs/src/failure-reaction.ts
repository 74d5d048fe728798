import { errorOf, type Logger } from '@tally/streams';
import type { FailureReaction } from './interfaces/index.js';

/** The part of a Nest application that is needed to end it. */
export interface ClosableApplication {
  close(): Promise<void>;
}

/** How long something else may keep the process alive after the application was closed, in milliseconds. */
const exitGraceMs = 5_000;

/** The worker has stopped by itself, and has logged why: does what the options say. Never rejects. */
export async function reactToFailure(
  thrown: unknown,
  reaction: FailureReaction,
  { logger, close }: { readonly logger: Logger; readonly close: () => Promise<void> },
): Promise<void> {
  try {
    if (typeof reaction === 'function') {
      await reaction(errorOf(thrown));
      return;
    }
    if (reaction === 'exit') process.exitCode = 1;
    await close();
  } catch (second) {
    logger.error(`Closing the application failed: ${errorOf(second).message}`);
  }
  // The process ends by itself when nothing is left to do; a forgotten timer or connection must not keep a service alive that does nothing.
  if (reaction === 'exit') setTimeout(() => process.exit(), exitGraceMs).unref();
}
