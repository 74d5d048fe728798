/**
 * Finds the record whose product the broker refuses. A refused record fails its whole batch, and the broker names only the partition:
 * so the tasks that wrote to it process ever smaller epochs until one unit is alone. That one is the culprit and meets its error policy.
 *
 * Only tasks under suspicion are slowed down, and only until the culprit has been dealt with: each confirmed epoch doubles a task's share.
 *
 * Invariants
 * 1. While a task is searched, an epoch holds units of one suspect only, and no more of them than its share: else a busy task, or units
 *    that join together, would keep the culprit from ever being alone.
 * 2. Suspects take turns: the one that has joined nothing for longest goes first.
 */
import { TallyError } from '../core/errors.js';
import { partitionName } from '../core/record.js';
import type { Epoch } from './epoch.js';
import type { Truncation } from './failure.js';
import type { FrozenTask, Task, UnitPlace } from './task.js';

interface Culprit {
  /** Why what it produced was refused; undefined while only its dead letter was. */
  error: Error | undefined;
  /** How often its dead letter was refused as well. */
  refusedLetters: number;
}

export interface RefusedPartition {
  readonly topic: string;
  readonly partition: number;
  readonly error: Error;
}

/** The search in one task. */
interface Search {
  /** Units that its next epoch may hold. */
  share: number;
  /** The largest number of units that was refused; the search ends when epochs of that size pass again. */
  unitsOfFirst: number;
  /** Orders the suspects by when a unit of theirs last joined. */
  servedAt: number;
}

/** How often in a row what no unit has made, such as a store's owner record, may be refused before the worker stops. */
const unitlessRefusalsMax = 5;

const truncationByRefusals: readonly Truncation[] = ['none', 'value', 'valueAndKey'];

function nameOf(unit: UnitPlace): string {
  return `${unit.topic}-${unit.partition}@${unit.offset}`;
}

export class Refusals {
  /** By task id. */
  private readonly searches = new Map<string, Search>();
  private readonly culprits = new Map<string, Culprit>();
  private turns = 0;
  private unitlessRefusals = 0;

  /** May a task join one more unit to the epoch? */
  admits(task: Task, epoch: Epoch): boolean {
    const search = this.searches.get(task.id);
    if (search === undefined) return true;
    return (epoch.suspect === undefined || epoch.suspect === task) && epoch.suspectUnits < search.share;
  }

  /** Counts a unit of a suspect; true when the epoch has its share and should be committed at once. */
  joined(task: Task, epoch: Epoch): boolean {
    const search = this.searches.get(task.id);
    if (search === undefined) return false;
    search.servedAt = ++this.turns;
    epoch.suspect = task;
    epoch.suspectUnits++;
    return epoch.suspectUnits >= search.share;
  }

  get isSearching(): boolean {
    return this.searches.size > 0;
  }

  /** The tasks in the order in which they are to be served. */
  inTurn(tasks: readonly Task[]): readonly Task[] {
    if (!this.isSearching) return tasks;
    const servedAt = ({ id }: Task): number => this.searches.get(id)?.servedAt ?? 0;
    return tasks.toSorted((left, right) => servedAt(left) - servedAt(right));
  }

  /**
   * An epoch was aborted because the broker refused something.
   * @param lettersOf tasks of which dead letters are among its outputs
   * @returns what the worker must stop with: even the smallest dead letter of a culprit was refused, or what no record has made.
   */
  refused(
    frozen: readonly FrozenTask[],
    writers: ReadonlySet<Task>,
    partition: RefusedPartition,
    lettersOf: ReadonlySet<Task>,
  ): Error | undefined {
    const blamed = frozen.filter(({ task, units }) => units > 0 && writers.has(task));
    if (blamed.length === 0) return ++this.unitlessRefusals < unitlessRefusalsMax ? undefined : partition.error;
    this.unitlessRefusals = 0;
    for (const { task, units } of blamed) {
      const search = this.searches.get(task.id) ?? { share: Number.POSITIVE_INFINITY, unitsOfFirst: 0, servedAt: 0 };
      search.unitsOfFirst = Math.max(search.unitsOfFirst, units);
      search.share = Math.max(1, Math.floor(Math.min(units, search.share) / 2));
      this.searches.set(task.id, search);
    }
    const [first] = blamed;
    const only = blamed.length === 1 && first?.units === 1 ? first.lastUnit : undefined;
    return only === undefined || first === undefined ? undefined : this.found(only, partition.error, lettersOf.has(first.task));
  }

  private found(unit: UnitPlace, error: Error, isLetter: boolean): Error | undefined {
    const name = nameOf(unit);
    const culprit = this.culprits.get(name) ?? { error: undefined, refusedLetters: 0 };
    this.culprits.set(name, culprit);
    if (!isLetter) culprit.error = error;
    else culprit.refusedLetters++;
    if (culprit.refusedLetters < truncationByRefusals.length) return undefined;
    return new TallyError({
      code: 'DEAD_LETTER_REFUSED',
      kind: 'fatal',
      message: `The dead letter of record ${partitionName(unit)} offset ${unit.offset} was refused, even without its key and value, so the worker stopped with the record uncommitted: ${error.message}`,
      place: unit,
      cause: error,
    });
  }

  /** The broker's refusal of what this unit produced, once it has been found to be the culprit. */
  of(unit: UnitPlace): Error | undefined {
    return this.culprits.size === 0 ? undefined : this.culprits.get(nameOf(unit))?.error;
  }

  /** The unit is processed once more in earnest. */
  retry(unit: UnitPlace): void {
    this.culprits.delete(nameOf(unit));
  }

  /** How much of the culprit's dead letter must be left out. */
  truncation(unit: UnitPlace): Truncation {
    const culprit = this.culprits.get(nameOf(unit));
    return culprit === undefined ? 'none' : (truncationByRefusals[culprit.refusedLetters] ?? 'valueAndKey');
  }

  /** An epoch was confirmed: suspects get a larger share, and culprits that it passed are forgotten. */
  confirmed(frozen: readonly FrozenTask[]): void {
    this.unitlessRefusals = 0;
    if (!this.isSearching) return;
    for (const { task, units, lastUnit } of frozen) {
      const search = this.searches.get(task.id);
      if (search === undefined || units === 0) continue;
      if (lastUnit !== undefined) this.culprits.delete(nameOf(lastUnit));
      search.share *= 2;
      if (search.share >= search.unitsOfFirst * 2) this.searches.delete(task.id);
    }
    if (!this.isSearching) this.culprits.clear();
  }
}
