/** The broker is stopped and started again under load: no record is blamed for it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorPolicy, TallyError } from '@tally/streams';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBroker } from '../scripts/broker.mjs';
import { TotalsModel, differences } from './support/model.js';
import { Trial } from './support/trial.js';
import type { WorkerProcess } from './support/workers.js';

const recordsTotal = 50_000;
const recordsPerSecond = 2_500;
/**
 * From the moment at which the broker answers again until all instances commit records, in milliseconds. An instance that was caught in a
 * commit may first use up the bounds of an abort (10 s), of closing its producer (15 s) and of two attempts to connect a new one (10 s each).
 */
const resumesWithinMs = 60_000;
/** The broker answers what it was asked, and writes the markers of what it has committed, in milliseconds. */
const answeredWithinMs = 500;
/** Longer than the broker takes to come back. */
const flushTimeoutMs = 12_000;

let own: Awaited<ReturnType<typeof startBroker>>;
beforeAll(async () => {
  own = await startBroker();
});
afterAll(() => own.stop());

async function deadLetterTopic(trial: Trial): Promise<{ readonly name: string; readonly policy: ErrorPolicy }> {
  const name = `${trial.applicationId}-dead-letters`;
  await trial.cluster.createTopic(name, 1);
  return { name, policy: { action: 'deadLetter', topic: name } };
}

/** Each instance commits records of the load that goes on. */
async function commitRecords(trial: Trial, workers: readonly WorkerProcess[]): Promise<void> {
  try {
    await Promise.all(workers.map((worker) => worker.event('committed', ({ records }) => records > 0, worker.mark, resumesWithinMs)));
  } catch (error) {
    throw new Error(`${String(error)}\n${await whatIsThere(trial, workers)}`, { cause: error });
  }
}

/** Whether there was something to commit, and what the instances make of it. */
async function whatIsThere(trial: Trial, workers: readonly WorkerProcess[]): Promise<string> {
  const unfinished = await trial.cluster.unfinished(trial.applicationId, trial.inputs, []);
  const healths = await Promise.all(
    workers.map(async (worker) => `${worker.name}: ${JSON.stringify(await worker.health().catch(String))}`),
  );
  return [`sent ${trial.load.sent}, to be processed: ${unfinished.join(', ')}`, ...healths].join('\n');
}

/** Until what was begun is acknowledged; by another producer, where the first one does not send again after the broker has come back. */
async function acknowledged(trial: Trial, sending: Promise<void>): Promise<void> {
  for (let waits = sending; ; waits = trial.load.flush(flushTimeoutMs)) {
    try {
      return await waits;
    } catch (error) {
      if (!(error instanceof TallyError) || error.kind !== 'retriable') throw error;
    }
    await trial.load.renew().catch((error: unknown) => {
      // The broker is away.
      if (!(error instanceof TallyError) || error.kind !== 'retriable') throw error;
    });
  }
}

/** Sends records until it is ended; those that the broker does not take wait for it. */
function endlessLoad(trial: Trial): { readonly end: () => Promise<void> } {
  let ended = false;
  const sending = (async () => {
    while (!ended) await acknowledged(trial, trial.load.send(recordsPerSecond / 10, recordsPerSecond, flushTimeoutMs));
  })();
  // Looked at when the load is ended; a test that fails before has its own reason.
  sending.catch(() => {});
  return {
    end() {
      ended = true;
      return sending;
    },
  };
}

/** The load's own producer may repeat records across a crash of the broker; what must come out follows from what is in the topic. */
async function modelOfInput(trial: Trial): Promise<TotalsModel> {
  const model = new TotalsModel();
  const sent = new Set([...trial.model.ids.values()].flat());
  for (const { key, value } of await trial.cluster.read(trial.inputs[0] ?? '')) {
    const id = Number(Buffer.from(value ?? []).readBigInt64BE());
    model.add(Buffer.from(key ?? []).toString(), id);
    sent.delete(id);
  }
  expect([...sent], 'records that were sent and are not in the topic').toEqual([]);
  return model;
}

/**
 * While it stops, a broker that is alone may take commits and leave out their markers (docs/decisions/015-leaders-of-a-lone-broker.md), which says nothing
 * of Tally. So the instances sleep until it is gone: what they have asked for is done by then, and transactions stay open.
 */
async function haltBroker(workers: readonly WorkerProcess[]): Promise<void> {
  for (const worker of workers) worker.suspend();
  await sleep(answeredWithinMs);
  await own.halt();
  for (const worker of workers) worker.resume();
}

describe('a broker that goes away under load and comes back', () => {
  it('nothing is lost, repeated or blamed, and processing goes on', { timeout: 300_000 }, async () => {
    const trial = await Trial.begin('broker-stopped', { topology: 'sums', cluster: own.brokers });
    try {
      const { name, policy } = await deadLetterTopic(trial);
      const errors = { deserialization: policy, processing: policy, production: policy };
      const workers = [trial.start('a', [], { errors }), trial.start('b', [], { errors })];
      await trial.allRunning();
      await Promise.all(workers.map((worker) => worker.until('it has tasks', () => worker.tasksIn('running').length > 0)));
      const load = endlessLoad(trial);
      for (let round = 0; round < 2; round++) {
        await commitRecords(trial, workers);
        const marks = workers.map(({ mark }) => mark);
        await haltBroker(workers);
        await Promise.all(workers.map((worker, index) => worker.until('it noticed', () => worker.of('log', marks[index]).length > 0)));
        await own.restart();
        await commitRecords(trial, workers);
      }
      await load.end();
      if (trial.load.sent < recordsTotal)
        await acknowledged(trial, trial.load.send(recordsTotal - trial.load.sent, Number.POSITIVE_INFINITY, flushTimeoutMs));
      await trial.settled();
      const truth = await modelOfInput(trial);
      const problems = [...differences('output', truth.outputs(), await trial.outputs()), ...(await trial.stateProblems(truth.totals()))];
      expect([...problems, ...trial.misbehaviour()]).toEqual([]);
      expect(await trial.cluster.read(name)).toEqual([]);
      for (const worker of workers) expect((await worker.health()).counters).toMatchObject({ recordsDeadLettered: 0, recordsSkipped: 0 });
      for (const worker of workers) await worker.stop();
    } finally {
      await trial.end();
    }
  });
});
