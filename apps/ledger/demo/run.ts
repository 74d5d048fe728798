/**
 * The demo: instances are started, payments flow, instances are killed in mid-stream, and the outcome is proved.
 *
 * 1. The load never runs further ahead of the processing than `backlogShare`, nor past the next kill's place before that kill: so each kill
 *    falls into the middle of it, however long a recovery takes.
 * 2. Progress is what the group has committed; nothing is taken from the instances' word but their counters and balances.
 * 3. Whatever fails anywhere aborts the one signal that everything waits with; everything started is ended in `finally`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { countLoad, generateLoad } from '../load/payments.js';
import { seededRandom } from '../load/random.js';
import { sendLoad } from '../load/sender.js';
import type { DemoArguments } from './arguments.js';
import { waitFor } from './instance.js';
import { type Casualty, countReplayed, killOne } from './kill.js';
import type { Progress } from './progress.js';
import type { Kill, Results } from './results.js';
import { Stage } from './stage.js';
import { verify } from './verify.js';

export interface DemoEnvironment {
  readonly brokers: string;
  /** The ledger's built entry file. */
  readonly entryFile: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Deduplication window of the ledger, in milliseconds. */
const windowMs = 3_600_000;
/** Time from one payment to the next, in milliseconds: hours of it pass in a minute, so that event ids leave the window too. */
const stepMs = 50;
const backlogShare = 0.1;
const refreshIntervalMs = 100;
const drainTimeoutMs = 300_000;

export async function runDemo(args: DemoArguments, environment: DemoEnvironment): Promise<Results> {
  const { brokers, entryFile, progress } = environment;
  const over = new AbortController();
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    over.abort();
  };
  const signal = AbortSignal.any([environment.signal, over.signal]);
  progress.update(`Starting ${args.instances} instances of the ledger`);
  const stage = await Stage.open({ brokers, entryFile, instances: args.instances, windowMs, progress, signal });
  try {
    const watching = watch(stage, args).catch(fail);
    await stage.startAll();
    progress.event(`${args.instances} instances of the ledger share ${stage.inputs.length} partitions`);
    const { casualties, seconds } = await play(args, stage, fail);
    await stage.waitUntilShared();
    const results = await conclude(args, stage, casualties, seconds);
    over.abort();
    await watching;
    await Promise.all(stage.instances.map((instance) => instance.stop()));
    return results;
  } catch (error) {
    // What happened first is the reason; that the rest was cut short by it is not. A Ctrl-C reaches the instances too.
    throw environment.signal.aborted ? environment.signal.reason : (failure ?? error);
  } finally {
    over.abort();
    await stage.close(args.keep);
    if (args.keep) progress.event(`Kept: logs and state in ${stage.directory}, topics named ${stage.runId}-*`);
  }
}

/** Keeps the stage's view of the progress fresh, and shows it. */
async function watch(stage: Stage, args: DemoArguments): Promise<void> {
  const { signal, progress } = stage.options;
  const total = countLoad(args.payments).records;
  while (!signal.aborted) {
    await stage.refresh();
    if (stage.compared > 0) progress.update(`${stage.compared} records compared`);
    else if (stage.sent > 0)
      progress.update(`${percent(stage.processed, total)} of ${total} payments processed, ${percent(stage.sent, total)} sent`);
    await sleep(refreshIntervalMs);
  }
}

/** Sends the load and kills instances on the way. Ends when everything sent has been processed. */
async function play(
  args: DemoArguments,
  stage: Stage,
  fail: (error: unknown) => void,
): Promise<{ casualties: Casualty[]; seconds: number }> {
  const { signal, brokers } = stage.options;
  const total = countLoad(args.payments).records;
  const startedMs = performance.now();
  const load = {
    payments: args.payments,
    accounts: args.accounts,
    seed: args.seed,
    startMs: Date.now() - args.payments * stepMs,
    stepMs,
    windowMs,
  };
  const sending = sendLoad(generateLoad(load), {
    brokers,
    topic: stage.topics.payments,
    // While an open transaction is waited for, the load must not run away from the moment that was chosen for the kill.
    ratePerSecond: () => (stage.striking ? args.ratePerSecond / 4 : args.ratePerSecond),
    signal,
    sendableMax: () => Math.min(stage.processed + Math.ceil(total * backlogShare), stage.striking ? Infinity : stage.holdAt),
    onProgress: (sent) => (stage.sent = sent),
  }).catch(fail);
  const casualties = await killSeveral(args, stage, total);
  await waitFor('all payments are processed', drainTimeoutMs, signal, () =>
    Promise.resolve(stage.sent === total && stage.processed >= total),
  );
  await sending;
  return { casualties, seconds: (performance.now() - startedMs) / 1_000 };
}

async function killSeveral(args: DemoArguments, stage: Stage, total: number): Promise<Casualty[]> {
  const { signal, progress } = stage.options;
  const random = seededRandom(args.seed ^ 0x6b696c6c);
  const casualties: Casualty[] = [];
  const dueAt = (index: number): number => (index < args.kills ? Math.ceil(total * dueShare(index, args.kills)) : Infinity);
  stage.holdAt = dueAt(0);
  for (let index = 0; index < args.kills; index++) {
    await waitFor('enough is processed for the next kill', drainTimeoutMs, signal, () => Promise.resolve(stage.processed >= dueAt(index)));
    stage.holdAt = dueAt(index + 1);
    const casualty = await killOne(stage, random, casualties.at(-1)?.victim);
    casualties.push(casualty);
    progress.event(
      `SIGKILL for ${casualty.victim} at record ${casualty.atRecord}; its partitions go on after ${(casualty.recoveryMs / 1_000).toFixed(1)} s`,
    );
    await stage.waitUntilShared();
  }
  return casualties;
}

/** The kills are spread over the middle of the load: at least a tenth of it lies before the first and after the last. */
export function dueShare(index: number, kills: number): number {
  const [first, last] = [0.15, 0.75];
  return kills === 1 ? 0.4 : first + ((last - first) * index) / (kills - 1);
}

async function conclude(args: DemoArguments, stage: Stage, casualties: readonly Casualty[], seconds: number): Promise<Results> {
  const { progress } = stage.options;
  progress.event('All payments are processed; comparing what came out with what went in');
  const { proof, droppedCopies, strangers, openRecords, records } = await verify(stage, casualties);
  await stage.refresh();
  const replayed = [...casualties.map(({ replayedBefore }) => replayedBefore), countReplayed(stage)];
  const kills = casualties.map(({ victim, atRecord, recoveryMs, processed, sent }, index): Kill => {
    const replayedRecords = (replayed[index + 1] ?? 0) - (replayed[index] ?? 0);
    return { victim, atRecord, recoveryMs, processed, sent, openRecords: openRecords[index] ?? 0, replayedRecords };
  });
  return {
    payments: args.payments,
    records,
    recordsExpected: countLoad(args.payments).records,
    recordsPerSecond: records / seconds,
    transactions: stage.instances.reduce((sum, instance) => sum + instance.transactions, 0),
    kills,
    droppedCopies,
    strangers,
    proof,
  };
}

function percent(part: number, total: number): string {
  return `${Math.floor((100 * part) / total)}%`;
}
