/** Services and load generators as processes of their own, observed; they end with the test file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BrokerError } from '@tally/streams';
import { kafkaAddresses } from '../kafka-setting.js';
import type { Outside } from '../nest-support.js';
import { freePort } from './free-port.js';
import { ServiceProcess } from './service.js';

const built = (path: string): string => fileURLToPath(new URL(`../../dist/apps/${path}`, import.meta.url));
const reader = fileURLToPath(new URL('observed-service.mjs', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

/** Variables with which a service exports all traces and logs to the receiver, soon. */
export function toReceiver(endpoint: string, service: string): Environment {
  return {
    OTEL_SERVICE_NAME: service,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_BLRP_SCHEDULE_DELAY: '100',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_METRIC_EXPORT_TIMEOUT: '400',
  };
}

/** A ledger, and where it answers. */
export interface Ledger {
  readonly process: ServiceProcess;
  readonly url: string;
}

export class ObservedProcesses {
  private readonly directory = mkdtempSync(join(tmpdir(), 'tally-observed-'));
  private readonly processes: ServiceProcess[] = [];

  constructor(private readonly run: string) {}

  /** A ledger over the topics of this run; started again under the same name it goes on where it was. */
  async ledger(name: string, telemetry: Environment, more: Environment = {}, entry = built('ledger/main.js')): Promise<Ledger> {
    const port = await freePort();
    const process = this.start(entry, {
      ...telemetry,
      APPLICATION_ID: `${this.run}-ledger`,
      TOPIC_PREFIX: `${this.run}-`,
      STATE_DIRECTORY: join(this.directory, name),
      PORT: String(port),
      ...more,
    });
    return { process, url: `http://127.0.0.1:${port}` };
  }

  /** A service that counts the records of a topic. */
  reader(name: string, input: string, telemetry: Environment): ServiceProcess {
    const application = `${this.run}-${name.replace(/-\d+$/, '')}`;
    return this.start(reader, { ...telemetry, INPUT: input, APPLICATION_ID: application, STATE_DIRECTORY: join(this.directory, name) });
  }

  /** The load generator, until all of it is sent. */
  async load(words: readonly string[], telemetry: Environment): Promise<void> {
    const process = this.start(built('ledger-tools/load/main.js'), telemetry, words);
    const { code } = await process.endsByItself();
    if (code !== 0) throw new Error(`The load generator failed:\n${process.describe()}`);
  }

  private start(file: string, environment: Environment, words: readonly string[] = []): ServiceProcess {
    const process = new ServiceProcess(file, { KAFKA_BROKERS: kafkaAddresses(), ...environment }, words);
    this.processes.push(process);
    return process;
  }

  async close(): Promise<void> {
    for (const each of this.processes) each.signal('SIGKILL');
    await Promise.all(this.processes.map((each) => each.ended));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Waits until there is an answer. @throws with what was waited for, and what is there instead */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  describe: () => string = () => '',
): Promise<T> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`Waited in vain until ${what}.\n${describe()}`);
}

/** Records of the topic that the group has committed, over all partitions; asked again while an open transaction holds an offset back. */
export async function committedRecords(outside: Outside, group: string, topic: string): Promise<number> {
  for (;;) {
    try {
      const offsets = await outside.committed(group, { name: topic });
      return offsets.reduce((sum: number, offset) => sum + (offset ?? 0), 0);
    } catch (error) {
      if (!(error instanceof BrokerError) || error.kind !== 'pending') throw error;
    }
  }
}
