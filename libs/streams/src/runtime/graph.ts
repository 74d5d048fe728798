/** A sub-topology compiled for one task: nodes linked by reference, with processor instances of its own. */
import { InvalidConfigurationError } from '../core/errors.js';
import { assert } from '../core/assert.js';
import type { ErrorPolicies } from '../topology/error-policy.js';
import type { InitContext } from '../topology/processor.js';
import { type Extract, extractorOf } from './timestamps.js';
import type { ProcessorNode, SinkNode, SubTopology, Topology, UntypedProcessor, UntypedSourceTopic } from '../topology/topology.js';

export interface ProcessorStep {
  readonly kind: 'processor';
  readonly name: string;
  readonly children: Step[];
  readonly stores: ReadonlySet<string>;
  /** Stores that it may only read, with the topic that each is a copy of; `undefined` where it may write all. */
  readonly readOnly: ReadonlyMap<string, string> | undefined;
  readonly concurrency: number;
  readonly deadlineMs: number | undefined;
  readonly errors: ErrorPolicies | undefined;
  processor: UntypedProcessor;
}

export interface SinkStep {
  readonly kind: 'sink';
  readonly name: string;
  readonly errors: undefined;
  readonly topic: SinkNode['topic'];
  readonly partition?: SinkNode['partition'];
}

export type Step = ProcessorStep | SinkStep;

export interface SourceStep {
  readonly topic: UntypedSourceTopic;
  /** Where records do not simply have their own timestamps. */
  readonly timestampOf: Extract | undefined;
  readonly children: readonly Step[];
  /** How many records of this source may be in hand at once: the least that an asynchronous processor behind it declares. */
  readonly concurrency: number;
}

export class TaskGraph {
  readonly sources = new Map<string, SourceStep>();
  private readonly processors: { readonly step: ProcessorStep; readonly create: () => UntypedProcessor }[] = [];

  constructor(topology: Topology, subTopology: SubTopology) {
    const steps = new Map<string, Step>();
    const stepOf = (name: string): Step => {
      const known = steps.get(name);
      if (known !== undefined) return known;
      const node = topology.nodes.get(name);
      assert(node !== undefined && node.kind !== 'source', `node '${name}' is no processor or sink`);
      let step: Step;
      if (node.kind === 'sink') {
        step = { kind: 'sink', name, errors: undefined, topic: node.topic, partition: node.partition };
      } else {
        step = {
          kind: 'processor',
          name,
          children: [],
          stores: new Set(node.stores),
          readOnly: readOnlyStores(topology, node),
          concurrency: node.concurrency,
          deadlineMs: node.deadlineMs,
          errors: node.errors,
          processor: unopened,
        };
        this.processors.push({ step, create: node.create });
      }
      steps.set(name, step);
      if (node.kind === 'processor' && step.kind === 'processor') step.children.push(...node.children.map(stepOf));
      return step;
    };
    for (const name of subTopology.nodes) {
      const node = topology.nodes.get(name);
      assert(node !== undefined, `node '${name}' of sub-topology '${subTopology.id}' exists`);
      if (node.kind !== 'source') continue;
      const children = node.children.map(stepOf);
      const concurrency = leastConcurrency(children);
      for (const topic of node.topics) {
        this.sources.set(topic.name, { topic, timestampOf: extractorOf(topic), children, concurrency });
      }
    }
  }

  /** Makes new processor instances and initialises them; what earlier instances held in memory is gone. */
  open(contextOf: (step: ProcessorStep) => InitContext): void {
    for (const { step, create } of this.processors) {
      step.processor = create();
      if (typeof step.processor?.process !== 'function') {
        throw new InvalidConfigurationError('PROCESSOR_INVALID', `Processor '${step.name}' has no method 'process'.`, { node: step.name });
      }
      step.processor.init?.(contextOf(step));
    }
  }

  /** Closes the processor instances; errors of users' `close` are handed to the callback and do not stop the others. */
  close(failed: (node: string, error: unknown) => void): void {
    for (const { step } of this.processors) {
      const processor = step.processor;
      step.processor = unopened;
      try {
        processor.close?.();
      } catch (error) {
        failed(step.name, error);
      }
    }
  }
}

function readOnlyStores({ globalStores, topicChangelogs }: Topology, node: ProcessorNode): ReadonlyMap<string, string> | undefined {
  const copies = node.stores.flatMap((store) => {
    const changelog = topicChangelogs.get(store);
    const topic = globalStores.get(store)?.topic ?? (changelog?.node === node.name ? undefined : changelog?.topic);
    return topic === undefined ? [] : [[store, topic.name] as const];
  });
  return copies.length === 0 ? undefined : new Map(copies);
}

const unopened: UntypedProcessor = {
  process() {
    assert(false, 'a processor ran before its task was opened');
  },
};

/** Processors that declare no concurrency are taken to be synchronous; the default of 1 then bounds them. */
function leastConcurrency(children: readonly Step[]): number {
  let least = Number.POSITIVE_INFINITY;
  const visit = (step: Step): void => {
    if (step.kind === 'sink') return;
    if (step.concurrency > 1) least = Math.min(least, step.concurrency);
    step.children.forEach(visit);
  };
  children.forEach(visit);
  return least === Number.POSITIVE_INFINITY ? 1 : least;
}
