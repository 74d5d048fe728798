/** A topology whose asynchronous processors and punctuators can be held up before they begin. */
import type { Processor, ProcessorNode, Topology } from '@tally/streams';

/** Called before each asynchronous call: what it returns is waited for, also when the call's deadline passes meanwhile. */
export type Hold = () => Promise<void> | undefined;

type Call = () => void | Promise<void>;

export function withHandlerFaults(topology: Topology, hold: Hold): Topology {
  const nodes = [...topology.nodes].map(([name, node]) => [name, node.kind === 'processor' ? heldUp(node, hold) : node] as const);
  return { ...topology, nodes: new Map(nodes) };
}

function heldUp(node: ProcessorNode, hold: Hold): ProcessorNode {
  return { ...node, create: () => heldUpProcessor(node.create(), hold) };
}

function heldUpProcessor(processor: Processor<unknown, unknown>, hold: Hold): Processor<unknown, unknown> {
  const process = new HeldUp(hold);
  return {
    init(context) {
      processor.init?.({
        ...context,
        schedule(intervalMs, type, callback) {
          const punctuation = new HeldUp(hold);
          return context.schedule(intervalMs, type, (atMs, own) => punctuation.run(() => callback(atMs, own)));
        },
      });
    },
    process: (record, context) => process.run(() => processor.process(record, context)),
    close: () => processor.close?.(),
  };
}

/** Only what has once returned a promise may be given one to wait for: a synchronous handler stays synchronous. */
class HeldUp {
  private isAsynchronous = false;

  constructor(private readonly hold: Hold) {}

  run(call: Call): void | Promise<void> {
    const held = this.isAsynchronous ? this.hold() : undefined;
    if (held !== undefined) return held.then(call);
    const result = call();
    if (result !== undefined) this.isAsynchronous = true;
    return result;
  }
}
