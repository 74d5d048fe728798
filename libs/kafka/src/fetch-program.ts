/**
 * The process that fetches for another one (the option `fetchProcess`). It reads the partitions that it is told to, in no group, and sends what it
 * reads. It holds nothing that matters: the other process knows where each stream stands, and opens it again in the next one of these.
 *
 * Commands are applied between two reads. It ends when the other process does, however that ends, and with no signal but SIGKILL: a terminal and some
 * supervisors send theirs to both, and the other one has work to finish.
 */
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { BrokerError, type ConsumedRecord, errorOf, type Logger, partitionName } from '@tally/streams';
import { fetcherProperties } from './client-properties.js';
import { errorNumbers } from './errors.js';
import { encodeFrame, type FetchCommand, type FetchEvent, type LogLevel, type OpenStream, type StreamEnd } from './fetch-protocol.js';
import { KafkaPartitionReader } from './reader.js';

const recordsMax = 500;
/** So many bytes a frame should have: of large records fewer are read at a time. */
const frameBytesWanted = 1_048_576;
/** How long a read waits for a first record, in milliseconds; so long a command may have to wait. */
const readTimeoutMs = 20;
const failedPauseMs = 100;

interface ReadStream extends OpenStream {
  /** What lies before it has been sent. */
  sent: number;
}

const pipe = new Socket({ fd: 3, readable: false, writable: true });
const commands: FetchCommand[] = [];
/** By partition. */
const streams = new Map<string, ReadStream>();
let wake: () => void = () => {};
/** Of one record of the last frame. */
let recordBytes = 1;

process.on('disconnect', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('message', (command: FetchCommand) => {
  commands.push(command);
  wake();
});
// The other process has gone; its end of the channel closes as well.
pipe.on('error', () => process.exit(0));

const say = (event: FetchEvent): void => void process.send?.(event, () => {});
const log =
  (level: LogLevel) =>
  (message: string): void =>
    say({ log: { level, message } });
const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };

try {
  await run();
} catch (error) {
  const message = `The process that fetches cannot go on: ${errorOf(error).message}`;
  const said: FetchEvent = { log: { level: 'error', message } };
  if (process.send?.(said, () => process.exit(1)) === undefined) process.exit(1);
}

async function run(): Promise<void> {
  const reader = await connect();
  for (;;) {
    await apply(reader);
    if (streams.size === 0) await commanded();
    else await pass(reader);
  }
}

async function connect(): Promise<KafkaPartitionReader> {
  await commanded();
  const command = commands.shift();
  if (command === undefined || !('start' in command)) throw new Error('the first command was not to start');
  const options = { ...command.start.options, logger };
  const reader = new KafkaPartitionReader(options, {
    name: `fetching of group ${command.start.groupId}`,
    properties: fetcherProperties(options, command.start.groupId),
  });
  await reader.connect();
  return reader;
}

async function commanded(): Promise<void> {
  if (commands.length > 0) return;
  await new Promise<void>((resolve) => {
    wake = resolve;
  });
}

async function apply(reader: KafkaPartitionReader): Promise<void> {
  for (let command = commands.shift(); command !== undefined; command = commands.shift()) {
    if ('open' in command) {
      await reader.assign(command.open);
      for (const opened of command.open) streams.set(partitionName(opened), { ...opened, sent: opened.offset });
    } else if ('close' in command) {
      const ids = new Set(command.close);
      const closed = [...streams.values()].filter(({ stream }) => ids.has(stream));
      await reader.unassign(closed);
      for (const stream of closed) streams.delete(partitionName(stream));
    }
  }
}

/** Reads once, and sends what has come. */
async function pass(reader: KafkaPartitionReader): Promise<void> {
  let read: readonly ConsumedRecord[];
  try {
    read = await reader.read(Math.max(1, Math.min(recordsMax, Math.floor(frameBytesWanted / recordBytes))), readTimeoutMs);
  } catch (error) {
    // Nothing more will ever come of this client.
    if (error instanceof BrokerError && error.brokerCode === errorNumbers.fatal) throw error;
    say({ failed: { code: error instanceof BrokerError ? error.brokerCode : undefined, message: errorOf(error).message } });
    await sleep(failedPauseMs);
    return;
  }
  const [sent, ids]: [ConsumedRecord[], number[]] = [[], []];
  let stream: ReadStream | undefined;
  for (const record of read) {
    if (stream === undefined || record.partition !== stream.partition || record.topic !== stream.topic)
      stream = streams.get(partitionName(record));
    // What is of no stream any more nobody waits for.
    if (stream === undefined || record.offset < stream.sent) continue;
    stream.sent = record.offset + 1;
    sent.push(record);
    ids.push(stream.stream);
  }
  const ends = endsOf(reader);
  if (sent.length === 0 && ends.length === 0) return;
  const frame = encodeFrame(sent, ids, ends);
  if (sent.length > 0) recordBytes = frame.length / sent.length;
  if (pipe.write(frame)) return;
  await new Promise<void>((resolve) => pipe.once('drain', resolve));
}

/** Of streams that are further than their last record, for what follows is none. */
function endsOf(reader: KafkaPartitionReader): StreamEnd[] {
  const ends: StreamEnd[] = [];
  for (const stream of streams.values()) {
    const offset = reader.position(stream) ?? stream.sent;
    if (offset <= stream.sent) continue;
    stream.sent = offset;
    ends.push({ stream: stream.stream, offset });
  }
  return ends;
}
