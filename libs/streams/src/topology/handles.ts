/** What the topology builder hands out: typed references to the nodes it made. */
import type { StreamRecord } from '../core/record.js';
import type { ContextWithoutForward } from './delegating-context.js';
import type { ErrorPolicies } from './error-policy.js';
import type { Processor, ProcessorContext, RecordMetadata } from './processor.js';
import type { AnyStoreDefinition } from './store-definition.js';
import type { OutputTopic } from './topic.js';

/** The records that one node, or several nodes together, forward. `K` and `V` exist for the compiler alone. */
export interface NodeHandle<K, V> {
  /** Names of the nodes; several for a source of several topics. */
  readonly nodes: readonly string[];
  /** Never set: it carries the types. */
  readonly forwards?: readonly [key: K, value: V];
}

/** One parent or several that forward the same types. */
export type Parents<K, V> = NodeHandle<K, V> | readonly [NodeHandle<K, V>, ...NodeHandle<K, V>[]];

/** Asynchronous handlers in flight: up to `perTask` records of one task at a time, those of one key one after the other. */
export interface Concurrency {
  readonly perTask: number;
  readonly orderedBy: 'key';
}

export interface NodeSettings {
  /** Unique in the application. */
  readonly name: string;
  /** Stores that the processor may use. */
  readonly stores?: readonly AnyStoreDefinition[];
  /** Default: one record at a time. Only for processors that call other services; each may touch only its record's key in its stores. */
  readonly concurrency?: Concurrency;
  /** After this long an asynchronous call has failed. Default: the application's `handlerDeadlineMs`. */
  readonly deadlineMs?: number;
  /** Overrides the application's error policies for records that fail here. */
  readonly errors?: ErrorPolicies;
}

export type ProcessFunction<KIn, VIn, KOut, VOut> = (
  record: StreamRecord<KIn, VIn>,
  context: ProcessorContext<KOut, VOut>,
) => void | Promise<void>;

/** Either a function, or `create`, which makes one processor for each task. */
export type ProcessorBody<KIn, VIn, KOut, VOut> =
  | { readonly process: ProcessFunction<KIn, VIn, KOut, VOut>; readonly create?: never }
  | { readonly create: () => Processor<KIn, VIn, KOut, VOut>; readonly process?: never };

/** What the processor forwards is what its context, `ProcessorContext<KOut, VOut>`, is declared with; left out, it forwards nothing. */
export type ProcessorOptions<KIn, VIn, KOut, VOut> = NodeSettings & ProcessorBody<KIn, VIn, KOut, VOut>;

/** Types of one of a branching processor's outputs; made by `output()`. */
export interface Output<K, V> {
  /** Never set: it carries the types. */
  readonly forwards?: readonly [key: K, value: V];
}

/**
 * Declares what a branching processor forwards to one of its outputs.
 * @example outputs: { accepted: output<string, Payment>(), rejected: output<string, Rejection>() }
 */
export function output<K, V>(): Output<K, V> {
  return {};
}

/**
 * As `output`, for operators that keep the key.
 * @example stream.processValues({ forwards: outputValue<bigint>(), process: (record, context) => context.forward(1n) });
 */
export function outputValue<V>(): Output<never, V> {
  return {};
}

export type Outputs = Readonly<Record<string, Output<unknown, unknown>>>;

/** The record that an output takes. */
export type OutputRecord<O> = O extends Output<infer K, infer V> ? StreamRecord<K, V> : never;

/** The handle of one output, to be the parent of other nodes. */
export type OutputHandle<O> = O extends Output<infer K, infer V> ? NodeHandle<K, V> : never;

/** As `ProcessorContext`, but a record is forwarded to one of the declared outputs. */
export interface BranchingContext<O extends Outputs> extends ContextWithoutForward {
  forward<N extends keyof O & string>(output: N, record: OutputRecord<O[N]>): void;
}

export interface BranchingOptions<KIn, VIn, O extends Outputs> extends NodeSettings {
  readonly outputs: O;
  readonly process: (record: StreamRecord<KIn, VIn>, context: BranchingContext<O>) => void | Promise<void>;
}

/** Where a sink writes: one topic, or the one that is chosen for each record. */
export type SinkTarget<K, V> = OutputTopic<K, V> | ((record: StreamRecord<K, V>, metadata: RecordMetadata) => OutputTopic<K, V>);
