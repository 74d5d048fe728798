/**
 * How one simulated process reaches the cluster: each request travels, takes effect, and its answer travels back, unless a fault says
 * otherwise. What was sent before a crash still takes effect; nothing is answered after it.
 */
import { BrokerError, type Clock, errorOf } from '@tally/streams';
import type { SimulatedCluster } from './cluster.js';
import { ContractViolation, isBrokerError, simulatedError } from './errors.js';
import type { RequestName, SimulatedRequest } from './faults.js';

export interface CallOptions {
  /** Without an answer for so long the call fails as `TIMED_OUT`, or `TRANSPORT` while the cluster is away. */
  readonly timeoutMs: number;
  readonly clientId: string;
  readonly commit?: boolean;
  /** For the trace. */
  readonly detail?: string;
  /**
   * Whether whoever sent it has been closed since: then a request that it had given up on still takes effect when it arrives. A client that
   * goes on drops the connection on which a request was not answered, and the request with it.
   */
  readonly isAbandoned?: () => boolean;
}

/** Where a simulated client may differ from that of a real cluster. */
export interface ClientSettings {
  /** Records may have the timestamp 0. */
  readonly writesTimestampZero: boolean;
  /** Which bytes of a topic's records are not copied, for nobody changes them. */
  readonly takesOver: (topic: string) => 'nothing' | 'values' | 'keysAndValues';
}

/** The client waits twice as long after each attempt, within these bounds. */
const retryBackoffMs = 5;
const retryBackoffMsMax = 80;

export class Connection {
  private isCrashed = false;

  constructor(
    readonly cluster: SimulatedCluster,
    readonly clock: Clock,
    readonly process: string,
    readonly client: ClientSettings = { writesTimestampZero: false, takesOver: () => 'nothing' },
  ) {}

  get crashed(): boolean {
    return this.isCrashed;
  }

  crash(): void {
    this.isCrashed = true;
  }

  /** Calls back on this process's clock; never after its crash. */
  after(delayMs: number, callback: () => void): () => void {
    return this.clock.after(delayMs, () => {
      if (!this.isCrashed) callback();
    });
  }

  /** Waits on this process's clock; for ever once it has crashed. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  /** Sends one request. `effect` is what the cluster does; what it returns or throws is the answer. */
  call<T>(name: RequestName, options: CallOptions, effect: () => T): Promise<T> {
    const { cluster } = this;
    const { clientId, commit } = options;
    const request: SimulatedRequest =
      commit === undefined ? { name, clientId, process: this.process } : { name, clientId, process: this.process, commit };
    return new Promise<T>((resolve, reject) => {
      if (this.isCrashed) return;
      const action = cluster.faults.decide(request);
      let expired = false;
      const cancelTimeout = this.after(options.timeoutMs, () => {
        expired = true;
        reject(simulatedError(cluster.isAvailable ? 'TIMED_OUT' : 'TRANSPORT'));
      });
      const answer = (settle: () => void): void => {
        if (action.lose === 'answer') return;
        this.after(cluster.latencyMs() + (action.answerDelayMs ?? 0), () => {
          if (expired) return;
          cancelTimeout();
          settle();
        });
      };
      if (action.lose === 'request') {
        this.trace(request, options, 'lost');
        return;
      }
      cluster.clock.after(cluster.latencyMs() + (action.delayMs ?? 0), () => {
        cluster.whenAvailable(() => {
          if (expired && options.isAbandoned?.() !== true) return;
          if (expired) cluster.faults.lateRequests += 1;
          const effected = action.error === undefined ? attempt(effect) : { error: action.error };
          const outcome = action.answerError === undefined || 'error' in effected ? effected : { error: action.answerError };
          this.trace(request, options, `${'error' in outcome ? codeOf(outcome.error) : 'ok'}${expired ? ' late' : ''}`);
          answer(() => ('error' in outcome ? reject(errorOf(outcome.error)) : resolve(outcome.value)));
        });
      });
    });
  }

  /** As `call`, again and again while an earlier transaction is being completed, up to the timeout. */
  async callWhileConcurrent<T>(name: RequestName, options: CallOptions, effect: () => T): Promise<T> {
    const deadlineMs = this.clock.monotonicMs() + options.timeoutMs;
    for (let backoffMs = retryBackoffMs; ; backoffMs = Math.min(2 * backoffMs, retryBackoffMsMax)) {
      try {
        return await this.call(name, options, effect);
      } catch (error) {
        if (!isBrokerError(error, 'CONCURRENT_TRANSACTIONS')) throw error;
        if (this.clock.monotonicMs() >= deadlineMs) throw simulatedError('TIMED_OUT');
        await this.sleep(backoffMs);
      }
    }
  }

  /** Records and returns a broken rule of the port, to be thrown. */
  violation(message: string): ContractViolation {
    const text = `${this.process}: ${message}`;
    this.cluster.violations.push(text);
    return new ContractViolation(text);
  }

  /** As `violation`, for an argument that a client checks before it uses it. */
  invalidArgument(message: string): BrokerError {
    this.violation(message);
    return new BrokerError({ code: 'INVALID_ARGUMENT', kind: 'invalid', message });
  }

  private trace(request: SimulatedRequest, options: CallOptions, outcome: string): void {
    if (this.cluster.isTraced)
      this.cluster.trace(`${request.process} ${request.clientId} ${request.name} ${options.detail ?? ''} ${outcome}`);
  }
}

function attempt<T>(effect: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: effect() };
  } catch (error) {
    return { error };
  }
}

function codeOf(error: unknown): string {
  return (error as Partial<BrokerError>).code ?? 'unexpected error';
}
