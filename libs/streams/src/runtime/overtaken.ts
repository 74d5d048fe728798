import { sleep } from '../core/clock.js';
import { TallyError } from '../core/errors.js';
import type { BrokerAdmin } from './broker.js';
import type { TaskEnvironment } from './environment.js';
import type { Input } from './input.js';

const retryDelayMs = 100;

/**
 * Whether somebody else has committed more of the input than this worker has read: then it has lost the partition and not heard of it yet,
 * and what has become of the records is no longer its business. Asks until there is an answer, or the input is closed, which says so too.
 */
export async function isOvertaken(input: Input, admin: BrokerAdmin, environment: TaskEnvironment): Promise<boolean> {
  const { topic, partition } = input;
  while (input.open && !environment.isStopping) {
    try {
      const [committed] = await admin.stableOffsets(environment.options.applicationId, [{ topic, partition }]);
      return (committed?.offset ?? 0) > Math.max(input.tail, input.readTo);
    } catch (error) {
      if (!(error instanceof TallyError) || (error.kind !== 'pending' && error.kind !== 'retriable')) throw error;
    }
    await sleep(environment.clock, retryDelayMs);
  }
  return true;
}
