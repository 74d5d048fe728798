/** Gives a processor several typed outputs: each is a node of its own that passes records on, so that the runtime knows only children. */
import type { StreamRecord } from '../core/record.js';
import { DelegatingContext } from './delegating-context.js';
import type { BranchingContext, OutputRecord, Outputs } from './handles.js';
import type { ProcessorContext, SendOptions } from './processor.js';
import type { Topic } from './topic.js';
import type { UntypedProcessor } from './topology.js';

export function outputNodeName(processor: string, output: string): string {
  return `${processor}-${output}`;
}

const passThrough: UntypedProcessor = {
  process(record, context) {
    context.forward(record);
  },
};

export function createPassThrough(): UntypedProcessor {
  return passThrough;
}

type BranchingProcess<KIn, VIn, O extends Outputs> = (record: StreamRecord<KIn, VIn>, context: BranchingContext<O>) => void | Promise<void>;

export function branchingProcessor<KIn, VIn, O extends Outputs>(
  name: string,
  outputs: readonly string[],
  process: BranchingProcess<KIn, VIn, O>,
): () => UntypedProcessor {
  const nodeNames = new Map(outputs.map((output) => [output, outputNodeName(name, output)]));
  const processor: UntypedProcessor = {
    process: (record, context) => process(record as StreamRecord<KIn, VIn>, new OutputsContext<O>(context, nodeNames)),
  };
  return () => processor;
}

class OutputsContext<O extends Outputs> extends DelegatingContext implements BranchingContext<O> {
  constructor(
    context: ProcessorContext,
    private readonly nodeNames: ReadonlyMap<string, string>,
  ) {
    super(context);
  }

  forward<N extends keyof O & string>(output: N, record: OutputRecord<O[N]>): void {
    const node = this.nodeNames.get(output);
    if (node === undefined) throw new TypeError(`There is no output "${output}"; declared are ${[...this.nodeNames.keys()].join(', ')}.`);
    this.context.forward(record, node);
  }

  send<K, V>(topic: Topic<K, V>, key: NoInfer<K>, value: NoInfer<V>, options?: SendOptions): void {
    this.sendToTopic(topic, key, value, options);
  }
}
