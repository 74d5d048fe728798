/**
 * What a user of Nest sees when a service cannot run: one line that says what to do, no stack trace, an exit code that is not zero. Nothing is
 * lost: once the cause is mended the same application goes on, and all counts are exact.
 */
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Level } from 'level';
import { afterEach, describe, expect, it } from 'vitest';
import { freePorts, startBroker } from '../scripts/broker.mjs';
import { adminCall, kafkaAddresses } from './kafka-setting.js';
import { Cluster } from './support/cluster.js';
import { smallDisk } from './support/full-disk.js';
import { resetOffsets } from './support/group-offsets.js';
import { startOldBroker } from './support/old-broker.js';
import { type Changes, type Ending, ServiceProcess, ServiceTrial } from './support/service.js';
import { Wire } from './support/wire.js';

const records = 2_000;

let trial: ServiceTrial;
const mends: (() => unknown)[] = [];
afterEach(async () => {
  await trial.end();
  for (const mend of mends.splice(0).reverse()) await mend();
});

/** One line of error, no trace, exit code 1. */
function expectOneError({ code, signal, errors, output }: Ending, message: RegExp): void {
  expect(errors.join('\n')).toMatch(message);
  expect(errors).toHaveLength(1);
  expect(output).not.toMatch(/ERROR|\n\s+at /);
  expect({ code, signal }).toEqual({ code: 1, signal: null });
}

/** Runs the service where it must refuse, and shows that it has changed nothing. */
async function refuses(message: RegExp, changes: Changes = {}): Promise<void> {
  const before = await trial.snapshot();
  expectOneError(await trial.start(changes).endsByItself(), message);
  expect(await trial.snapshot()).toEqual(before);
}

/** An application that has counted something, and has more to count. */
async function begin(changes: Changes = {}): Promise<void> {
  trial = await ServiceTrial.begin('bad-input');
  await trial.send(records);
  await trial.processAll(changes);
  await trial.send(records);
}

async function goesOn(changes: Changes = {}): Promise<void> {
  await trial.processAll(changes);
  expect(await trial.problems()).toEqual([]);
}

/** Databases of the application's tasks. */
const taskDirectories = (): string[] => {
  const tasks = join(trial.stateDirectory, trial.id, '0', 'tasks');
  return readdirSync(tasks).map((name) => join(tasks, name));
};

describe('wrong options', () => {
  it('are refused by name, one after another', async () => {
    await begin();
    const wrong: [NonNullable<Changes['options']>, RegExp][] = [
      [{ applicationId: 'no spaces' }, /OPTION_INVALID: Option 'applicationId' must be 1 to 100 characters .*'no spaces'/],
      [{ brokers: 'nowhere' }, /OPTION_INVALID: Option 'brokers' must be addresses of the form 'host:port'; 'nowhere' is none/],
      [{ stateDirectory: '' }, /OPTION_INVALID: Option 'stateDirectory' must name a directory/],
      [{ commitIntervalMs: -5 }, /OPTION_INVALID: Option 'commitIntervalMs' must be a whole number from 0 to \d+; it is -5/],
      [{ comitIntervalMs: 5 }, /OPTION_INVALID: Option 'comitIntervalMs' is unknown/],
      [{ client: { 'no.such.property': 1 } }, /The option `client` has a property that the client refuses: .*no\.such\.property/],
    ];
    for (const [options, message] of wrong) await refuses(message, { options });
    await goesOn();
  });
});

describe('a cluster that cannot be used', () => {
  it('because no broker answers, is named with the option', async () => {
    await begin();
    const [port] = await freePorts(1);
    const options = { brokers: `127.0.0.1:${port}`, brokerTimeoutMs: 2_000 };
    await refuses(/BROKER_UNREACHABLE: .*127\.0\.0\.1:\d+.*option .brokers./, { options });
    await goesOn();
  });

  it('because a broker is too old, is named with what is needed', async () => {
    await begin();
    const old = await startOldBroker(kafkaAddresses());
    mends.push(() => old.close());
    await refuses(/UNSUPPORTED_BROKER: .*Kafka 4\.0 or newer/, { options: { brokers: old.address } });
    expect(old.rewritten).toBeGreaterThan(0);
    await goesOn();
  });

  it('because its group protocol is switched off, is named with what to switch on', async () => {
    trial = await ServiceTrial.begin('bad-feature');
    const own = await startBroker();
    mends.push(() => own.stop());
    const wire = new Wire(own.brokers);
    await wire.switchOff('group.version');
    wire.close();
    const cluster = await Cluster.connect(own.brokers);
    for (const topic of [trial.input, trial.output]) await cluster.createTopic(topic, trial.partitions);
    await cluster.close();
    expectOneError(
      await trial.start({ options: { brokers: own.brokers } }).endsByItself(),
      /API version not supported.* Tally needs Kafka 4\.0 or newer .*`group\.version` 1/,
    );
  });
});

describe('topics that do not fit', () => {
  it.each(['input', 'output'] as const)('because the %s is missing, are named with the command that makes them', async (role) => {
    await begin();
    const name = `${trial.id}-another`;
    await refuses(
      new RegExp(
        `TOPIC_MISSING: Topic '${name}' is ${role === 'input' ? 'read from' : 'written to'} and does not exist\\. Create it .*kafka-topics\\.sh --create --topic ${name}`,
      ),
      { [role]: name },
    );
    await goesOn();
  });

  it('because they have too few partitions, are named with both numbers', async () => {
    await begin({ inputPartitions: 2 });
    await refuses(
      /PARTITIONS_MISMATCH: Topic '\S+-input' has 2 partitions, but it is declared with 4\. Change the declaration or the topic/,
      { inputPartitions: 4 },
    );
    await goesOn();
  });

  it('because partitions were added, stop a running service, keep it from starting, and lose nothing', async () => {
    await begin();
    const running = trial.start();
    await trial.settled(running);
    const before = await trial.snapshot();
    await adminCall((admin, callback) => admin.createPartitions(trial.input, 3, callback));
    expectOneError(
      await running.endsByItself(),
      /Topic '\S+-input' has grown beyond the 2 partitions that it had at the start\. Start the worker again/,
    );
    await refuses(
      /INTERNAL_TOPIC_PARTITIONS: '\S+-counts-changelog' \(changelog of store 'counts'\) has 2 partitions, but its sources have 3\. .*start under a new applicationId/,
    );
    expect(await trial.snapshot()).toEqual(before);
    const again = `${trial.id}-again`;
    await trial.cluster.createTopic(again, 2);
    await trial.processAll({ output: again, options: { applicationId: again } });
    expect(await trial.problems(again)).toEqual([]);
  });
});

describe('a state directory that cannot be used', () => {
  it('because another process has it, is named with what to do', async () => {
    await begin();
    const holder = trial.start();
    await trial.settled(holder);
    await refuses(
      /STATE_LOCKED: All 1 slots of the state directory '\S+' are locked .*End one of them, raise slotsMax, or give this worker a stateDirectory of its own/,
      {
        options: { slotsMax: 1, lockTimeoutMs: 300 },
      },
    );
    await trial.stop(holder);
    await trial.send(records);
    await goesOn({ options: { slotsMax: 1 } });
  });

  it('because it cannot be written, is named with who must own it', async () => {
    await begin();
    const aside = `${trial.stateDirectory}-aside`;
    renameSync(trial.stateDirectory, aside);
    writeFileSync(trial.stateDirectory, 'a file');
    await refuses(
      /STATE_UNWRITABLE: The state directory \S+ cannot be read or written \(.*\)\. Let the user that runs this process own it/,
    );
    rmSync(trial.stateDirectory);
    renameSync(aside, trial.stateDirectory);
    await goesOn();
  });

  it('because the disk is full, stops the service and keeps it from starting until there is space', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tally-disk-'));
    mends.push(() => rmSync(directory, { recursive: true, force: true }));
    const disk = smallDisk(join(directory, 'disk'));
    mends.push(() => disk.remove());
    const options = { stateDirectory: disk.directory, stateFlushIntervalMs: 50 };
    await begin({ options });
    const full = /The disk of the state directory \S+ is full\. Free space there and start again; nothing that was committed is lost/;
    if (disk.isReal) {
      const running = trial.start({ options });
      await trial.settled(running, trial.settings({ options }));
      disk.fill();
      // Not every write needs a new block of the disk.
      for (const untilMs = Date.now() + 60_000; running.ending === undefined && Date.now() < untilMs;) await trial.send(records);
      expectOneError(await running.endsByItself(), full);
      disk.free();
    }
    disk.fill();
    await trial.send(records);
    expectOneError(await trial.start({ options }).endsByItself(), full);
    disk.free();
    await goesOn({ options });
  });

  it('because a newer version wrote it, is named with both ways on', async () => {
    await begin();
    const format = Buffer.from([0, 1]);
    const setFormat = async (version: number): Promise<void> => {
      for (const directory of taskDirectories()) {
        const database = new Level<Buffer, Buffer>(directory, { keyEncoding: 'buffer', valueEncoding: 'buffer' });
        expect(await database.get(format)).toBeDefined();
        await database.put(format, Buffer.from([version]));
        await database.close();
      }
    };
    await setFormat(9);
    await refuses(
      /The state in directory \S+ has format 9; this version of Tally knows formats up to 1\. Start the newer version again, or set stateDirectory to an empty directory/,
    );
    await setFormat(1);
    await goesOn();
  });
});

describe('a topology that does not fit', () => {
  it('the stored state, is refused with the store named', async () => {
    await begin();
    await refuses(
      /Store 'counts' holds keyValue entries with keys written by 'string'; now it is declared as keyValue with 'int64'\. Use a new store name/,
      { storeKey: 'int64' },
    );
    await goesOn();
  });

  it("the group's committed metadata, is refused with both versions", async () => {
    await begin({ options: { topologyVersion: 2 } });
    rmSync(trial.stateDirectory, { recursive: true });
    await refuses(/\S+-input-\d was last processed by version 2 of topology '\S+'; this is version 1\. .*Deploy the newer version/);
    await goesOn({ options: { topologyVersion: 2 } });
  });
});

describe('committed offsets', () => {
  it('that expired while state remains, are refused, and go on when they are set by hand', async () => {
    await begin();
    const partitions = await trial.cluster.partitionsOf(trial.input);
    const offsets = await trial.cluster.broker.admin.stableOffsets(trial.id, partitions);
    await adminCall((admin, callback) => admin.deleteGroups([trial.id], {}, callback));
    await refuses(
      /Store 'counts' holds state made from \S+-input-\d, but group '\S+' has no committed offset for it .*Set the offset by hand/,
    );
    await resetOffsets(
      trial.id,
      offsets.map(({ topic, partition, offset = 0 }) => ({ topic, partition, offset })),
    );
    await goesOn();
  });
});

describe('the ledger', () => {
  const ledger = fileURLToPath(new URL('../dist/apps/ledger/main.js', import.meta.url));
  const start = (environment: Readonly<Record<string, string>> = {}): ServiceProcess => {
    const own = {
      PORT: '0',
      KAFKA_BROKERS: kafkaAddresses(),
      TOPIC_PREFIX: `${trial.id}-`,
      APPLICATION_ID: trial.id,
      STATE_DIRECTORY: trial.stateDirectory,
    };
    return trial.track(new ServiceProcess(ledger, { ...own, ...environment }));
  };

  it('says what is wrong in the same way', async () => {
    trial = await ServiceTrial.begin('bad-ledger');
    const payments = `${trial.id}-payments`;
    expectOneError(await start().endsByItself(), new RegExp(`TOPIC_MISSING: Topic '${payments}' is read from and does not exist`));
    for (const topic of [
      payments,
      ...['postings', 'balances', 'payments-rejected', 'payments-malformed'].map((role) => `${trial.id}-${role}`),
    ]) {
      await trial.cluster.createTopic(topic, trial.partitions);
    }
    expectOneError(await start({ APPLICATION_ID: 'no spaces' }).endsByItself(), /OPTION_INVALID: Option 'applicationId'/);
    const occupied = `${trial.stateDirectory}-occupied`;
    writeFileSync(occupied, 'a file');
    expectOneError(await start({ STATE_DIRECTORY: occupied }).endsByItself(), /STATE_UNWRITABLE/);
    const healthy = start();
    // The very first offsets are committed before any record.
    const offsets = async () => trial.cluster.broker.admin.stableOffsets(trial.id, await trial.cluster.partitionsOf(payments));
    while ((await offsets()).some(({ offset }) => offset === undefined)) await sleep(100);
    await trial.stop(healthy);
  });
});
