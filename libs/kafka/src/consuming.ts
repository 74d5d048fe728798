/** One batch from the client. Shared by the group consumer and the reader. */
import type { NativeConsumer, NativeMessage } from './native.js';

export type Batch = { readonly messages: readonly NativeMessage[] } | { readonly thrown: unknown };

/** Never rejects: what an error of a consume means depends on who reads. */
export function consumeBatch(client: NativeConsumer, recordsMax: number, timeoutMs: number): Promise<Batch> {
  return new Promise((resolve) => {
    try {
      client.setDefaultConsumeTimeout(Math.max(0, Math.floor(timeoutMs)));
      client.consume(Math.max(1, Math.floor(recordsMax)), (thrown, messages) =>
        resolve(thrown ? { thrown } : { messages: messages ?? [] }),
      );
    } catch (thrown) {
      resolve({ thrown });
    }
  });
}
