/**
 * The openings of tasks, in the background: live tasks go on meanwhile. Only the last step, the activation, is taken under the worker's
 * lock. A task is opened only when what there was under its name before has ended: an opening that was cancelled, or a closing.
 */
import { sleep } from '../core/clock.js';
import { TallyError, errorOf } from '../core/errors.js';
import type { TaskEnvironment } from './environment.js';
import type { Lock } from './lock.js';
import { OpeningCancelledError } from './opening.js';
import type { OpenedTask, TaskOpener } from './task-opener.js';
import type { TaskSlot } from './task-slot.js';

interface Opening {
  cancelled: boolean;
  readonly done: Promise<void>;
}

const retryDelayMs = 200;

export class TaskOpenings {
  private readonly openings = new Map<string, Opening>();
  private readonly closings = new Map<string, Promise<void>>();

  constructor(
    private readonly environment: TaskEnvironment,
    private readonly opener: TaskOpener,
    private readonly lock: Lock,
    private readonly activate: (slot: TaskSlot, opened: OpenedTask, cancelled: () => boolean) => Promise<void>,
  ) {}

  start(slot: TaskSlot): void {
    slot.phase = 'waiting';
    slot.progress = { done: 0, total: 0 };
    const before = this.openings.get(slot.id);
    const opening: Opening = { cancelled: false, done: Promise.resolve() };
    const done = this.open(slot, opening, before?.done);
    this.openings.set(slot.id, Object.assign(opening, { done }));
  }

  cancel({ id }: TaskSlot): void {
    const opening = this.openings.get(id);
    if (opening !== undefined) opening.cancelled = true;
  }

  /** A task of the slot is being closed; the next opening waits for it. */
  awaitClosing({ id }: TaskSlot, closing: Promise<void>): void {
    this.closings.set(id, closing);
  }

  async ended(): Promise<void> {
    await Promise.all([...this.openings.values()].map(({ done }) => done));
  }

  private async open(slot: TaskSlot, opening: Opening, before: Promise<void> | undefined): Promise<void> {
    const cancelled = (): boolean => opening.cancelled || this.environment.isStopping;
    await before;
    await this.closings.get(slot.id);
    while (!cancelled()) {
      try {
        slot.progress = { done: 0, total: 0 };
        slot.phase = 'restoring';
        const opened = await this.opener.open(slot, cancelled);
        await this.lock.run(() => this.activate(slot, opened, cancelled));
        return;
      } catch (error) {
        if (error instanceof OpeningCancelledError || cancelled()) return;
        if (!(error instanceof TallyError) || error.kind !== 'retriable') {
          this.environment.fail(errorOf(error));
          return;
        }
        this.environment.logger.warn(`Task ${slot.id} cannot be opened yet: ${error.message}`, { task: slot.id });
        await sleep(this.environment.clock, retryDelayMs);
      }
    }
  }
}
