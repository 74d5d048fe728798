/** How much of its changelogs a process replayed, against what was written since its predecessor's last flush. */
import type { ConsumedRecord } from '@tally/streams';
import type { Trial } from './trial.js';
import { type WorkerProcess, partitionOf } from './workers.js';

export interface Replays {
  /** One for each store that was restored from a position on the disk. */
  readonly checked: number;
  readonly records: number;
  readonly problems: readonly string[];
}

/** What held the tasks before, and until when. */
export interface Predecessor {
  readonly process: WorkerProcess;
  readonly endedAtMs: number;
  /** Changelog positions on its disk, by partition. */
  readonly positions: ReadonlyMap<number, number>;
}

/**
 * Compares the first restore of each task by the successor, from its event `mark` on, with the changelog: it has to replay exactly what
 * lies behind the position on the disk, and no more than what was written since the epoch whose flush the predecessor reported last.
 */
export async function replaysOf(
  trial: Trial,
  { process, endedAtMs, positions }: Predecessor,
  successor: WorkerProcess,
  mark = 0,
): Promise<Replays> {
  const changelog = await trial.changelogRecords();
  const problems: string[] = [];
  let records = 0;
  const restored = [
    ...new Map(
      successor
        .of('restored', mark)
        .reverse()
        .map((event) => [event.task, event]),
    ).values(),
  ];
  const checked = restored.filter(({ task }) => positions.has(partitionOf(task)));
  for (const event of checked) {
    const partition = partitionOf(event.task);
    const written = changelog.filter((record) => record.partition === partition);
    const behind = written.filter(({ offset }) => offset >= (positions.get(partition) ?? 0));
    records += event.records;
    const openings = successor
      .of('task', mark)
      .filter(({ task, phase, atMs }) => task === event.task && phase === 'restoring' && atMs <= event.atMs).length;
    // What a previous owner writes while the restore begins may or may not be in it. One that was cut off, as by another loss of the
    // partition, leaves the next one less to do.
    const least = openings > 1 ? 0 : until(behind, Math.min(endedAtMs, event.atMs - event.durationMs)).length;
    const most = until(behind, event.atMs).length;
    if (event.records < least || event.records > most) {
      problems.push(
        `${successor.name} replayed ${event.records} records of task ${event.task}; behind position ${positions.get(partition)} were ${least} to ${most}`,
      );
    }
    const sinceMs = flushedSinceMs(process, event.task, endedAtMs);
    if (sinceMs === undefined) continue;
    const unflushed = until(written, event.atMs).filter(({ timestampMs }) => timestampMs >= sinceMs).length;
    if (event.records > unflushed)
      problems.push(
        `${successor.name} replayed ${event.records} records of task ${event.task}; only ${unflushed} were written since the last flush`,
      );
  }
  return { checked: checked.length, records, problems };
}

const until = (records: readonly ConsumedRecord[], atMs: number): readonly ConsumedRecord[] =>
  records.filter(({ timestampMs }) => timestampMs <= atMs);

/**
 * Since when the process has written what it had not flushed when it ended; `undefined` for a task that it did not run then. The position
 * of a flush is read while its epoch commits, when the markers of the epoch before may still be on their way.
 */
function flushedSinceMs(process: WorkerProcess, task: string, endedAtMs: number): number | undefined {
  const before = <Event extends { readonly atMs: number }>(events: readonly Event[]): readonly Event[] =>
    events.filter(({ atMs }) => atMs <= endedAtMs);
  const phase = before(process.of('task')).findLast((event) => event.task === task);
  const opened = before(process.of('restored')).findLast((event) => event.task === task);
  if (phase?.phase !== 'running' || opened === undefined) return undefined;
  const flushed = before(process.of('flushed')).findLast((event) => event.task === task);
  const openedMs = opened.atMs - opened.durationMs;
  if (flushed === undefined || flushed.atMs < openedMs) return openedMs;
  const frozen = process.of('point').filter(({ point, epoch }) => point === 'frozen' && epoch < flushed.epoch);
  return Math.max(openedMs, frozen.at(-1)?.atMs ?? 0);
}
