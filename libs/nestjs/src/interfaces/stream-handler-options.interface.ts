import type { AnyStoreDefinition, Concurrency, ErrorPolicies } from '@tally/streams';

export interface StreamHandlerOptions<S extends readonly AnyStoreDefinition[] = readonly AnyStoreDefinition[]> {
  /** Stores that the handler reads or writes. */
  readonly stores?: S;
  /** Asynchronous handlers in flight. Default: one record at a time for each task. */
  readonly concurrency?: Concurrency;
  /** After this long an asynchronous handler has failed and its later writes are refused. Default: the application's `handlerDeadlineMs`. */
  readonly deadlineMs?: number;
  /** Overrides the application's error policies for records that fail here. */
  readonly errors?: ErrorPolicies;
  /** Name of the node in the topology. Default `<Controller>.<method>`. */
  readonly name?: string;
  /** Application that the handler belongs to, where a process runs several. */
  readonly application?: string;
}
