import type { Processor } from '@tally/streams';
import type { CompiledHandler } from './compiled-handler.js';
import { RecordContext } from './record-context.js';
import { isThenable } from './settle.js';

/** The topology's view of a handler. Its result means nothing to the runtime: that it returned, or threw, does. */
export function handlerProcessor(handle: CompiledHandler): () => Processor<unknown, unknown, never, never> {
  return () => ({
    process(record, context) {
      const result = handle(record.value, new RecordContext(record, context));
      if (isThenable(result)) return result as Promise<void>;
    },
  });
}
