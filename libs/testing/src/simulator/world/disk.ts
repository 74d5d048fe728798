/** The disk of a machine: it survives the processes that run on it, and fails when it is told to. */
import {
  CorruptDataError,
  InvalidConfigurationError,
  MemoryEngine,
  sleep,
  type StoreDatabase,
  type StoreEngine,
  type TallyError,
} from '@tally/streams';
import type { Draw } from '../plan/draw.js';
import type { DiskError } from '../plan/plan.js';
import type { Machine } from './machine.js';

const errors: Readonly<Record<DiskError, (directory: string) => TallyError>> = {
  read: (directory) => new CorruptDataError('STATE_CORRUPT', `A block of ${directory} cannot be read.`),
  write: (directory) => new InvalidConfigurationError('STATE_UNWRITABLE', `Nothing can be written to ${directory}.`),
  sync: (directory) => new InvalidConfigurationError('STATE_UNWRITABLE', `A write to ${directory} cannot be synced.`),
  full: (directory) => new InvalidConfigurationError('STATE_DISK_FULL', `The disk of ${directory} is full.`),
};

interface ArmedError {
  readonly error: DiskError;
  times: number;
  readonly fired: () => void;
}

export class Disk implements StoreEngine {
  /** Writes on their way to stable storage. */
  writing = 0;
  slowUntilMs = 0;
  slowMsMax = 0;
  private readonly armed: ArmedError[] = [];
  private readonly engine: MemoryEngine;

  constructor(
    private readonly machine: Machine,
    private readonly draw: Draw,
    /** A write takes up to this long, in milliseconds. */
    private readonly writeMsMax: number,
  ) {
    this.engine = new MemoryEngine({
      faults: {
        beforeWrite: (directory) => this.beforeWrite(directory),
        afterWrite: (directory) => this.afterWrite(directory),
        beforeRead: (directory) => this.fail(directory, ['read']),
      },
    });
  }

  /** Directories that hold a database. */
  get directories(): readonly string[] {
    return this.engine.directories;
  }

  open(directory: string): Promise<StoreDatabase> {
    return this.engine.open(directory);
  }

  async destroy(directory: string): Promise<void> {
    this.machine.destroyed.push(directory);
    await this.engine.destroy(directory);
  }

  /** The next operations that the error can meet fail with it. */
  failNext(error: DiskError, times: number, fired: () => void): void {
    this.armed.push({ error, times, fired });
  }

  heal(): void {
    this.armed.length = 0;
    this.slowUntilMs = 0;
  }

  crash(): void {
    this.writing = 0;
    this.engine.crash();
  }

  private async beforeWrite(directory: string): Promise<void> {
    this.writing += 1;
    const { clock } = this.machine;
    // Nobody's process: what it holds is being looked at.
    if (clock === undefined) return;
    const isSlow = clock.monotonicMs() < this.slowUntilMs;
    const waitMs = this.draw.between(0, isSlow ? this.slowMsMax : this.writeMsMax);
    if (waitMs > 0) await sleep(clock, waitMs);
    try {
      this.fail(directory, ['write', 'full']);
    } catch (error) {
      this.written();
      throw error;
    }
  }

  private async afterWrite(directory: string): Promise<void> {
    const { clock } = this.machine;
    if (clock === undefined) return;
    if (this.writeMsMax > 0) await sleep(clock, 0);
    this.written();
    this.fail(directory, ['sync']);
  }

  private written(): void {
    if (this.writing > 0) this.writing -= 1;
  }

  /** Errors meet the tasks' databases alone: that of the slot is written once in the life of a disk. */
  private fail(directory: string, kinds: readonly DiskError[]): void {
    if (this.armed.length === 0 || !directory.includes('/tasks/')) return;
    const met = this.armed.find(({ error }) => kinds.includes(error));
    if (met === undefined) return;
    met.times -= 1;
    if (met.times === 0) this.armed.splice(this.armed.indexOf(met), 1);
    met.fired();
    throw errors[met.error](directory);
  }
}
