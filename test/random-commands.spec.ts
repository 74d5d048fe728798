/** Random sequences of commands, answered alike by a real cluster and by the simulated one. */
import { afterAll, describe, expect, it } from 'vitest';
import { compareAnswers, runOnSimulated } from '../libs/testing/src/broker-suite/random-commands.suite.js';
import { KafkaGround } from './support/kafka-ground.js';

/** Most of a sequence is waiting, so several run at the same time. */
const lanes = 16;
/** Other seeds: RANDOM_COMMANDS_SEED=5000 RANDOM_COMMANDS=200. */
const firstSeed = Number(process.env['RANDOM_COMMANDS_SEED'] ?? 1);
const sequences = Number(process.env['RANDOM_COMMANDS'] ?? 1_000);

describe('random commands', () => {
  const grounds = Array.from({ length: lanes }, () => new KafkaGround());

  afterAll(() => Promise.all(grounds.map((ground) => ground.close())));

  it('are answered alike by a Kafka cluster and by the simulated one', { timeout: 600_000 }, async () => {
    const commands = await compareAnswers({ examined: grounds, simulated: { run: runOnSimulated }, firstSeed, sequences });
    expect(commands).toBeGreaterThan(5 * sequences);
  });
});
