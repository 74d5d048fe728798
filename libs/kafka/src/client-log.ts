/** What a native client says beside its answers: error events have no number, log lines are the only place where some reasons stand. */
import type { Logger } from '@tally/streams';
import type { NativeLogEvent } from './native.js';

interface Emitter {
  on(event: 'event.error', listener: (error: Error) => void): void;
  on(event: 'event.log', listener: (log: NativeLogEvent) => void): void;
}

/** syslog severities from here on are for debugging. */
const severityInfo = 6;
const repeatSilenceMs = 10_000;
/** Log lines come by another way than answers, and now and then behind them. */
const fatalReasonWaitMs = 1_000;

export class ClientLog {
  /** The last error that was said, for messages of errors that have no text of their own. */
  lastError: string | undefined;
  /** Why the client cannot go on; only its log says it. */
  fatalReason: string | undefined;
  #fatalReasonHeard: () => void = () => {};
  readonly #logger: Logger;
  readonly #name: string;
  readonly #saidAtMs = new Map<string, number>();

  constructor(logger: Logger, name: string) {
    this.#logger = logger;
    this.#name = name;
  }

  listen(client: Emitter): void {
    client.on('event.error', (error) => this.error(error));
    client.on('event.log', (log) => this.line(log));
  }

  error(error: Error): void {
    this.lastError = error.message;
    this.#say('warn', error.message);
  }

  line(log: NativeLogEvent): void {
    if (log.fac === 'FATAL') {
      this.fatalReason = log.message;
      this.#fatalReasonHeard();
    }
    if (log.severity <= 3) this.lastError = log.message;
    if (log.severity <= 4) this.#say('warn', `${log.fac}: ${log.message}`);
    else if (log.severity <= severityInfo) this.#logger.debug(`${this.#name}: ${log.fac}: ${log.message}`);
  }

  /** Resolves when the reason of a fatal error is known, or seems not to come. */
  async fatalReasonHeard(): Promise<void> {
    if (this.fatalReason !== undefined) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#fatalReasonHeard = resolve;
      timer = setTimeout(resolve, fatalReasonWaitMs);
    });
    clearTimeout(timer);
  }

  /** A broker that is down would otherwise say so many times a second. */
  #say(level: 'warn', message: string): void {
    const now = performance.now();
    const saidAt = this.#saidAtMs.get(message);
    if (saidAt !== undefined && now - saidAt < repeatSilenceMs) return;
    if (this.#saidAtMs.size > 100) this.#saidAtMs.clear();
    this.#saidAtMs.set(message, now);
    this.#logger[level](`${this.#name}: ${message}`);
  }
}
