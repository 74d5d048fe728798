/** Faults injected into requests, and the record of those that fired: a fault that never fired proves nothing. */
import type { BrokerError } from '@tally/streams';

export type RequestName =
  | 'connect'
  | 'initProducer'
  | 'addPartitions'
  | 'addOffsets'
  /** Not sent: the call of the producer, which waits in the client's own queue and can only be delayed. */
  | 'sendOffsets'
  | 'commitTransactionOffsets'
  | 'endTransaction'
  | 'produce'
  | 'fetch'
  | 'heartbeat'
  | 'leaveGroup'
  | 'commitOffsets'
  | 'listTopics'
  | 'describeTopics'
  | 'createTopic'
  | 'listOffsets'
  | 'stableOffsets'
  | 'deleteRecords'
  | 'describeGroup';

export interface SimulatedRequest {
  readonly name: RequestName;
  /** Of the consumer or producer that sends it; the process's name for admin requests and readers. */
  readonly clientId: string;
  /** Name of the simulated process. */
  readonly process: string;
  /** `endTransaction`: which way. */
  readonly commit?: boolean;
}

export interface FaultAction {
  /** The request takes this much longer before it takes effect. */
  readonly delayMs?: number;
  /** The answer takes this much longer. */
  readonly answerDelayMs?: number;
  /** `request`: it never takes effect. `answer`: it takes effect, and the client learns nothing of it. */
  readonly lose?: 'request' | 'answer';
  /** Answered instead of taking effect. */
  readonly error?: BrokerError;
  /** Answered although it has taken effect. */
  readonly answerError?: BrokerError;
}

export type FaultRule = (request: SimulatedRequest) => FaultAction | undefined;

export interface FiredFault {
  readonly request: SimulatedRequest;
  readonly action: FaultAction;
}

export class Faults {
  readonly fired: FiredFault[] = [];
  /** Requests that arrived after their producer had given up on them and been closed. */
  lateRequests = 0;
  private readonly rules = new Set<FaultRule>();

  /** Asks the rule about every request; the first rule with an answer decides. @returns a function that removes the rule. */
  add(rule: FaultRule): () => void {
    this.rules.add(rule);
    return () => this.rules.delete(rule);
  }

  /** Applies the action to the next request that matches, `times` times. */
  next(matches: RequestName | ((request: SimulatedRequest) => boolean), action: FaultAction, times = 1): void {
    let left = times;
    const rule: FaultRule = (request) => {
      if (!(typeof matches === 'string' ? request.name === matches : matches(request))) return undefined;
      left -= 1;
      if (left === 0) this.rules.delete(rule);
      return action;
    };
    this.rules.add(rule);
  }

  clear(): void {
    this.rules.clear();
  }

  decide(request: SimulatedRequest): FaultAction {
    for (const rule of this.rules) {
      const action = rule(request);
      if (action === undefined) continue;
      this.fired.push({ request, action });
      return action;
    }
    return {};
  }
}
