/** Closing a client: once nothing is under way, once, and within a bound. */
import type { Logger } from '@tally/streams';
import { type CallsInFlight, settledWithin } from './native-call.js';
import type { Callback } from './native.js';

export interface Closing {
  /** For the log: "consumer of group a". */
  readonly name: string;
  /** Asked when nothing is under way any more: a call may have connected it. */
  readonly client: () => { isConnected(): boolean } | undefined;
  readonly calls: CallsInFlight;
  readonly timeoutMs: number;
  readonly logger: Logger;
  /** What it means for others when the client cannot be disconnected, for the log. */
  readonly meaning?: string;
  /** What has to be done first, with nothing else under way. */
  readonly before?: () => Promise<void> | void;
  readonly disconnect: (callback: Callback<unknown>) => void;
}

/**
 * Disconnecting beside a commit aborts the process, and beside most other calls it never calls back. So a client that has not answered
 * within the bound is left behind, connected; that is logged.
 */
export async function disconnectWhenIdle(closing: Closing): Promise<void> {
  const { name, logger, timeoutMs } = closing;
  const meaning = closing.meaning === undefined ? '' : ` ${closing.meaning}`;
  const idle = await closing.calls.idle(timeoutMs);
  if (closing.client()?.isConnected() !== true) return;
  if (!idle) {
    logger.error(`The ${name} is left behind: a call has not answered within ${timeoutMs} ms.${meaning}`);
    return;
  }
  await closing.before?.();
  const disconnected = new Promise<void>((resolve) => {
    try {
      closing.disconnect(() => resolve());
    } catch (thrown) {
      logger.warn(`The ${name} did not disconnect in an orderly way: ${String(thrown)}`);
      resolve();
    }
  });
  if (await settledWithin(disconnected, timeoutMs)) return;
  logger.error(`The ${name} did not disconnect within ${timeoutMs} ms and is left behind.${meaning}`);
}
