/** Reads everything back, asks the instances, and hands both to the checker. */
import { type Proof, LedgerChecker } from './checker.js';
import type { Answer } from './instance.js';
import { type Casualty, placeOf } from './kill.js';
import type { DroppedCopy, RawRecord } from './model.js';
import type { Stage } from './stage.js';

export interface Verification {
  readonly proof: Proof;
  readonly droppedCopies: readonly DroppedCopy[];
  readonly strangers: { readonly asked: number; readonly answered: number };
  /** By kill: records that were uncommitted when it happened and never became visible. */
  readonly openRecords: readonly number[];
  readonly records: number;
}

/** How many accounts are asked one by one, from their owner and from someone else. */
const singleQuestions = 200;

export async function verify(stage: Stage, casualties: readonly Casualty[]): Promise<Verification> {
  const { topics, options } = stage;
  const checker = new LedgerChecker(options.windowMs);
  const hidden = casualties.map(({ uncommitted }) => new Set(uncommitted));
  let records = 0;
  const readTopic = (topic: string, take: (record: RawRecord) => void): Promise<void> =>
    stage.cluster.read(
      stage.inputs.map(({ partition }) => ({ topic, partition, offset: 0 })),
      true,
      (record) => {
        stage.compared++;
        take(record);
      },
    );
  const readOutput = (topic: string, take: (record: RawRecord) => void): Promise<void> =>
    readTopic(topic, (record) => {
      const place = placeOf(record);
      for (const places of hidden) places.delete(place);
      take(record);
    });
  await readTopic(topics.payments, (record) => {
    records++;
    checker.addInput(record);
  });
  await readOutput(topics.postings, (record) => checker.addPosting(record));
  await readOutput(topics.balances, (record) => checker.addBalance(record));
  await readOutput(topics.rejected, (record) => checker.addRejection(record));
  await readOutput(topics.malformed, (record) => checker.addMalformed(record));
  const strangers = await askInstances(stage, checker);
  return {
    proof: checker.prove(),
    droppedCopies: checker.droppedCopies,
    strangers,
    openRecords: hidden.map((places) => places.size),
    records,
  };
}

async function askInstances(stage: Stage, checker: LedgerChecker): Promise<{ asked: number; answered: number }> {
  const strangers = { asked: 0, answered: 0 };
  for (const owner of stage.instances) {
    const answers = await owner.balances();
    for (const { account, balance } of answers) checker.addAnswer(owner.name, account, balance);
    const others = stage.instances.filter((instance) => instance !== owner);
    for (const answer of everyNth(answers, singleQuestions)) {
      const single = await owner.balance(answer.account);
      // A single answer that differs from the list is one answer too many, and is reported as such.
      if (typeof single === 'number' || single.balance !== answer.balance)
        checker.addAnswer(`${owner.name} (asked alone)`, answer.account, -1n);
      for (const other of others) {
        strangers.asked++;
        if (typeof (await other.balance(answer.account)) !== 'number') strangers.answered++;
      }
    }
  }
  return strangers;
}

function everyNth(answers: readonly Answer[], count: number): Answer[] {
  const step = Math.max(1, Math.floor(answers.length / count));
  return answers.filter((_, index) => index % step === 0).slice(0, count);
}
