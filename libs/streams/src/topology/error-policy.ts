import type { AnyTopic } from './topic.js';

/** What is done with a record that failed. `retry` is followed by what `then` says once the bound is reached. */
export type ErrorPolicy =
  | { readonly action: 'stop' }
  | { readonly action: 'skip' }
  | { readonly action: 'deadLetter'; readonly topic: DeadLetterTopic }
  | {
      readonly action: 'retry';
      readonly retriesMax: number;
      readonly backoffMs: number;
      readonly backoffMaxMs?: number;
      readonly then: TerminalErrorPolicy;
    };

export type TerminalErrorPolicy = Exclude<ErrorPolicy, { readonly action: 'retry' }>;

/** Name or handle of the topic that takes the original bytes; keys and values are written unchanged. */
export type DeadLetterTopic = string | Pick<AnyTopic, 'name'>;

/** Chooses by the error; for example retry on a time-out, dead-letter otherwise. */
export type ErrorPolicyChoice = ErrorPolicy | ((error: Error) => ErrorPolicy);

export interface ErrorPolicies {
  /** The key or value cannot be decoded. Default: stop. */
  readonly deserialization?: ErrorPolicyChoice;
  /** A processor threw or passed its deadline. Default: stop. */
  readonly processing?: ErrorPolicyChoice;
  /** What the record produced was refused: serialization, size, unknown topic, authorization. Default: stop. */
  readonly production?: ErrorPolicyChoice;
}
