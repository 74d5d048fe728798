import { sleep, type TopicPartition } from '@tally/streams';
import { SimulatedBroker } from '../../broker/index.js';
import type { History } from '../world/history.js';
import { type FaultDefinition, someTime } from './kind.js';

const pollMs = 20;

export const stranger: FaultDefinition<'stranger'> = {
  weight: 2,
  labels: ['stranger in the group'],
  suits: () => true,
  tells: ({ application }) => application.joinsTopics,
  draw: (draw, setting) => ({ kind: 'stranger', atMs: someTime(draw, setting), input: draw.below(2), stayMs: draw.between(200, 4_000) }),
  arm(history, { atMs, input, stayMs }) {
    history.clock.after(atMs, () => {
      if (history.isHealing || history.era.isEnding) return;
      history.fired('stranger in the group');
      void stay(history, history.setting.inputs[input % history.setting.inputs.length] ?? '', stayMs);
    });
  },
};

/** Joins the group for one of its topics, holds what it gets without reading it, and leaves. */
async function stay(history: History, topic: string, stayMs: number): Promise<void> {
  const { cluster, clock, era, elapsedMs } = history;
  const broker = new SimulatedBroker(cluster, { process: 'stranger' });
  const answers: (() => Promise<void>)[] = [];
  const letGo = (partitions: readonly TopicPartition[]): unknown => answers.push(() => consumer.unassign(partitions));
  const consumer = broker.createConsumer({
    groupId: era.applicationId,
    clientId: 'stranger',
    listener: {
      assigned: (partitions) => {
        const starts = partitions.map((partition) => ({ ...partition, offset: 0 }));
        answers.push(() => consumer.assign(starts, { paused: true }));
      },
      revoked: letGo,
      lost: letGo,
      failed() {},
    },
  });
  await consumer.subscribe([topic]).catch(() => {});
  while (history.elapsedMs < elapsedMs + stayMs && !history.isHealing && !era.isEnding) {
    await consumer.consume(1, pollMs);
    for (const answer of answers.splice(0)) await answer();
    await sleep(clock, 0);
  }
  await consumer.close();
}
