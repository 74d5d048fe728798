/** Committed offsets that are gone while state remains, and offsets that there never were because the topic is new. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OffsetToCommit } from '@tally/streams';
import { describe, expect, it } from 'vitest';
import { adminCall } from './kafka-setting.js';
import { lastTotals } from './support/model.js';
import { Load } from './support/load.js';
import { Trial } from './support/trial.js';
import type { WorkerProcess } from './support/workers.js';

const recordsTotal = 50_000;

/** What the broker does when a group had no member for `offsets.retention.minutes`. */
async function expireOffsets(trial: Trial): Promise<void> {
  await adminCall((admin, callback) =>
    admin.deleteGroups([trial.applicationId], {}, (error, reports) =>
      callback(error ?? reports?.find((report) => report.error !== undefined)?.error),
    ),
  );
  const places = await trial.cluster.partitionsOf(trial.inputs[0] ?? '');
  const offsets = await trial.cluster.broker.admin.stableOffsets(trial.applicationId, places);
  expect(offsets.map(({ offset }) => offset)).toEqual(places.map(() => undefined));
}

/** What the error tells the operator to do. */
async function setOffsets(trial: Trial, offsets: readonly OffsetToCommit[]): Promise<void> {
  let owned = 0;
  const answers: Promise<void>[] = [];
  const consumer = trial.cluster.broker.createConsumer({
    groupId: trial.applicationId,
    clientId: 'operator',
    listener: {
      assigned(partitions) {
        owned += partitions.length;
        answers.push(
          consumer.assign(
            partitions.map((at) => ({ ...at, offset: 0 })),
            { paused: true },
          ),
        );
      },
      revoked: (partitions) => void answers.push(consumer.unassign(partitions)),
      lost: (partitions) => void answers.push(consumer.unassign(partitions)),
      failed(error) {
        throw error;
      },
    },
  });
  await consumer.subscribe(trial.inputs);
  while (owned < offsets.length) {
    await consumer.consume(1, 50);
    await Promise.all(answers);
  }
  await consumer.commitOffsets(offsets);
  await consumer.close();
}

/** The worker refuses to start, says so once, and ends by itself. */
async function expectRefusal(worker: WorkerProcess): Promise<void> {
  worker.isExpectedToEnd = true;
  await worker.until('it has ended', () => worker.ended !== undefined);
  expect(worker.ended).toBe(1);
  const reasons = worker.events.flatMap((event) => (event.event === 'failed' ? [event.reason] : []));
  expect(reasons).toHaveLength(1);
  expect(reasons[0]?.code).toBe('OFFSETS_EXPIRED');
  expect(reasons[0]?.message).toMatch(/Store 'totals' holds state made from .*-input-\d, but group '.*' has no committed offset for it/);
  expect(reasons[0]?.message).toContain('--reset-offsets');
  expect(
    worker.of('committed').filter(({ records }) => records > 0),
    'it has processed nothing',
  ).toEqual([]);
}

describe('offsets that expired while the state is still there', () => {
  it('are refused with the local disk and without it, nothing is counted twice, and setting them by hand lets it go on', async () => {
    const trial = await Trial.begin('expired', { topology: 'sums' });
    try {
      await trial.load.send(recordsTotal);
      const first = trial.start('a');
      await trial.allRunning();
      await trial.settled();
      expect(await trial.problems()).toEqual([]);
      await first.stop();
      const places = await trial.cluster.partitionsOf(trial.inputs[0] ?? '');
      const committed = await trial.cluster.broker.admin.stableOffsets(trial.applicationId, places);

      await expireOffsets(trial);
      await trial.load.send(1_000);
      const model = await trial.outputs();
      for (const disk of ['a', 'without']) {
        await expectRefusal(trial.start(disk));
        expect(await trial.outputs(), 'the output has not grown').toEqual(model);
      }
      expect([...lastTotals(await trial.changelogRecords()).values()].reduce((sum, total) => sum + Number(total), 0)).toBe(
        (recordsTotal * (recordsTotal + 1)) / 2,
      );

      await setOffsets(
        trial,
        committed.map(({ topic, partition, offset = 0 }) => ({ topic, partition, offset, metadata: '' })),
      );
      const again = trial.start('a');
      await trial.allRunning();
      await trial.settled();
      // All refusals of before are reported by processes that have ended.
      expect((await trial.problems()).filter((problem) => !problem.includes('"event":"failed"'))).toEqual([]);
      await again.stop();
    } finally {
      await trial.end();
    }
  });
});

describe('an input topic that is added to an application with state', () => {
  it('is accepted, and read from its beginning into the state that is there', async () => {
    const topologies = new URL('support/expiry-topologies.mjs', import.meta.url).href;
    const trial = await Trial.begin('added', { topology: 'before', topologies });
    try {
      const before = trial.start('a');
      await trial.allRunning();
      await trial.load.send(recordsTotal - 10_000);
      await trial.settled();
      await before.stop();

      const later = `${trial.applicationId}-later`;
      await trial.cluster.createTopic(later, trial.partitions);
      const more = await Load.connect(trial.cluster, { topics: [later], partitions: trial.partitions }, trial.model);
      await more.send(10_000);
      await more.close();
      const after = trial.start('a', [], {}, { topology: 'after', names: { later } });
      await after.until('all tasks run', () => after.tasksIn('running').length === trial.partitions);
      while ((await trial.cluster.unfinished(trial.applicationId, [later], [trial.output, trial.changelog])).length > 0) await sleep(100);
      await trial.settled();
      expect(await trial.problems()).toEqual([]);
      await after.stop();
    } finally {
      await trial.end();
    }
  });
});
