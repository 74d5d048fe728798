/** Aborts in the middle of a load: tasks go back and the input is rewound while a consume is in flight that brings what comes later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { kafkaAddresses } from './kafka-setting.js';
import { brokerErrors, refuseOffsets } from './support/answers.js';
import { BrokerProxy } from './support/proxy.js';
import { Trial } from './support/trial.js';

const recordsTotal = 100_000;
/** So many at most, where no abort has met a consume by then. */
const recordsMax = 400_000;
/** One of so many commits is refused. */
const refusedEvery = 3;
const waveSize = 250;
const waveEveryMs = 5;

describe('an input that is rewound while a consume is in flight', () => {
  it('loses nothing and repeats nothing, however often it happens', async () => {
    const proxy = await BrokerProxy.start(kafkaAddresses());
    const trial = await Trial.begin('rewind', {
      topology: 'sums',
      brokers: proxy.address,
      options: { commitIntervalMs: 20, recordsPerConsume: 500 },
    });
    try {
      await trial.load.send(recordsTotal / 2);
      let commits = 0;
      const refusal = proxy.change({
        api: 'txnOffsetCommit',
        only: () => ++commits % refusedEvery === 0,
        change: refuseOffsets(brokerErrors.unknownMember),
      });
      const worker = trial.start('a');
      await trial.allRunning();
      // The other half comes in waves: a worker that has caught up waits in a consume, which brings the next wave while an abort goes on.
      const discarded = async (): Promise<number> => (await worker.health()).counters.recordsDiscarded;
      for (let sent = recordsTotal / 2; sent < recordsTotal || (sent < recordsMax && (await discarded()) === 0); sent += waveSize) {
        await trial.load.send(waveSize);
        await sleep(waveEveryMs);
      }
      await trial.settled();
      refusal.heal();
      const reasons = (): (string | undefined)[] =>
        worker.events.flatMap((event) => (event.event === 'aborted' ? [event.reason.code] : []));
      await worker.until('each refusal led to an abort', () => reasons().length >= refusal.fired);
      await trial.settled();
      const { counters } = await worker.health();
      expect(refusal.fired).toBeGreaterThan(5);
      expect(counters.transactionsAborted).toBe(refusal.fired);
      expect(new Set(reasons())).toEqual(new Set(['STALE_MEMBER']));
      expect(counters.producersReplaced).toBe(0);
      expect(counters.recordsDiscarded, 'records that a consume in flight brought for closed inputs').toBeGreaterThan(0);
      expect(await trial.problems()).toEqual([]);
      await worker.stop();
    } finally {
      await trial.end();
      await proxy.close();
    }
  });
});
