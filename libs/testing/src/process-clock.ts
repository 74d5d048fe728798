/**
 * The clock of one simulated process: a view on a clock shared by all. It can be stopped as SIGSTOP stops a process (what becomes due
 * meanwhile fires at the resume, in order), and ended as SIGKILL does (nothing fires any more).
 */
import type { Clock } from '@tally/streams';

export class ProcessClock implements Clock {
  private held: (() => void)[] = [];
  private state: 'running' | 'paused' | 'killed' = 'running';
  private offsetMs = 0;

  constructor(
    private readonly shared: Clock,
    /** Asked before each callback, so that something can happen to the process there; false when it has ended of it. */
    private readonly mayGoOn: () => boolean = () => true,
  ) {}

  nowMs(): number {
    return this.shared.nowMs() + this.offsetMs;
  }

  monotonicMs(): number {
    return this.shared.monotonicMs();
  }

  after(delayMs: number, callback: () => void): () => void {
    let cancelled = false;
    const fire = (): void => {
      if (cancelled || this.state === 'killed') return;
      // Stopped before, or at this very moment.
      if (this.state === 'paused' || (this.mayGoOn() && !this.running)) this.held.push(fire);
      else if (this.running) callback();
    };
    const cancelShared = this.shared.after(delayMs, fire);
    return () => {
      cancelled = true;
      cancelShared();
    };
  }

  yieldNow(): Promise<void> {
    return new Promise((resolve) => {
      this.after(0, resolve);
    });
  }

  get running(): boolean {
    return this.state === 'running';
  }

  pause(): void {
    if (this.state === 'running') this.state = 'paused';
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'running';
    const held = this.held;
    this.held = [];
    for (const fire of held) this.after(0, fire);
  }

  kill(): void {
    this.state = 'killed';
    this.held = [];
  }

  /** How far its wall clock is ahead of the shared one, in milliseconds. */
  get wallClockOffsetMs(): number {
    return this.offsetMs;
  }

  /** Makes the wall clock of this process jump; intervals are not disturbed. */
  jumpWallClock(byMs: number): void {
    this.offsetMs += byMs;
  }
}
