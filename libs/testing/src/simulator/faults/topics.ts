import { changelogTopicName, sleep } from '@tally/streams';
import type { History } from '../world/history.js';
import { type FaultDefinition, type FaultSetting, someTime } from './kind.js';

export const compact: FaultDefinition<'compact'> = {
  weight: 1,
  labels: ['log cleaner'],
  suits: () => true,
  draw: (draw, setting) => ({ kind: 'compact', atMs: someTime(draw, setting) }),
  arm(history, { atMs }) {
    history.clock.after(atMs, () => {
      history.fired('log cleaner');
      history.cluster.compact();
    });
  },
};

export const retention: FaultDefinition<'retention'> = {
  weight: 2,
  labels: ['retention'],
  suits: ({ application }) => application.survivesLostTopics,
  draw: (draw, setting) => ({ kind: 'retention', atMs: someTime(draw, setting), everyMs: draw.between(50, 600) }),
  arm(history, { atMs, everyMs }) {
    history.clock.after(atMs, () => {
      history.fired('retention');
      void deleteAgainAndAgain(history, everyMs);
    });
  },
};

async function deleteAgainAndAgain(history: History, everyMs: number): Promise<void> {
  while (!history.isHealing) {
    history.era.deleteProcessed();
    await sleep(history.clock, everyMs);
  }
}

/** In the second half, so that there is something to be lost. */
function late(setting: FaultSetting): number {
  return Math.floor(setting.durationMs * 0.6);
}

export const recreate: FaultDefinition<'recreate'> = {
  weight: 0.5,
  needsPerson: true,
  labels: ['source made anew', 'changelog made anew'],
  suits: ({ application, worker }) => application.isStateful && application.survivesLostTopics && worker.guarantee === 'exactly-once',
  draw: (draw, setting) => ({ kind: 'recreate', atMs: late(setting), what: draw.oneOf(['source', 'changelog']) }),
  arm(history, { atMs, what }) {
    history.clock.after(atMs, () => {
      // Before anything was committed nothing can be lost.
      if (history.isHealing || history.era.isEnding || !hasState(history)) return;
      history.fired(`${what} made anew`);
      if (what === 'source') recreateSource(history);
      else recreateChangelog(history);
    });
  },
};

function hasState({ cluster, setting, era }: History): boolean {
  return setting.stores.some(({ name }) => cluster.allRecords(changelogTopicName(era.applicationId, name)).length > 0);
}

/** The committed offsets mean nothing in the new topic: nobody may go on with them. */
function recreateSource(history: History): void {
  const { setting, era, load } = history;
  load.suspend();
  era.keepInputs();
  const [name] = setting.inputs;
  makeAnew(history, (topic) => topic === name);
  era.expectRefusal(['TOPIC_RECREATED', 'OFFSET_OUT_OF_RANGE', 'OFFSETS_EXPIRED'], () => history.beginEra());
}

/** What the stores hold cannot be restored any more: whoever opens one next must say so. Running tasks do not notice, so they are ended. */
function recreateChangelog(history: History): void {
  const { setting, era, machines, evidence } = history;
  const names = new Set(setting.stores.map(({ name }) => changelogTopicName(era.applicationId, name)));
  makeAnew(history, (topic) => names.has(topic));
  evidence.reasonsToRebuild.add('changelog');
  era.expectRefusal(['STATE_LOST'], () => history.beginEra());
  for (const machine of machines) machine.crash({ downMs: 100 });
}

function makeAnew({ cluster, inputLog }: History, isMeant: (topic: string) => boolean): void {
  for (const { name, partitions, config } of Array.from(cluster.topics.all())) {
    if (!isMeant(name)) continue;
    cluster.deleteTopic(name);
    inputLog.forget(name);
    cluster.createTopic(name, partitions.length, config);
  }
}

export const expireOffsets: FaultDefinition<'expireOffsets'> = {
  weight: 0.4,
  needsPerson: true,
  labels: ['offsets expired'],
  suits: ({ application, worker }) => application.isStateful && worker.guarantee === 'exactly-once',
  draw: (draw, setting) => ({ kind: 'expireOffsets', atMs: late(setting), newDisks: draw.chance(0.5) }),
  arm(history, { atMs, newDisks }) {
    history.clock.after(atMs, () => {
      if (!history.isHealing && !history.era.isEnding && hasState(history)) void expire(history, newDisks);
    });
  },
};

/** All processes are away for days. State without an offset must be refused, wherever it lies; a person sets the offsets again by hand. */
async function expire(history: History, newDisks: boolean): Promise<void> {
  const { era, cluster, machines } = history;
  for (const machine of machines) machine.crash();
  await era.end();
  const { offsets } = cluster.group(era.applicationId);
  const known = offsets.all();
  offsets.expire();
  history.fired('offsets expired');
  if (newDisks) for (const machine of machines) machine.replaceDisk();
  era.expectRefusal(['OFFSETS_EXPIRED'], async () => {
    await era.end();
    offsets.commit(known);
    era.goOn();
  });
  era.goOn();
}
