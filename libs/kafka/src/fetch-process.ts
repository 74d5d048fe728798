/**
 * The process that fetches, seen from the one that it fetches for. Invariants:
 *
 * 1. What `take` gives of a partition follows what it gave before, from where the partition's stream was opened; nothing of a stream that was closed.
 * 2. Where a stream stands is known here alone. A process that has ended is followed by another one, in which all streams are opened anew there.
 * 3. What waits here is bounded: beyond it nothing is read from the pipe, and behind a full pipe the other process reads nothing either.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { type ConsumedRecord, errorOf, partitionName, type TopicPartition, type TopicPartitionOffset } from '@tally/streams';
import { FrameAssembler, FrameCursor, type FetchCommand, type FetchEvent, type KnownStream } from './fetch-protocol.js';
import { settledWithin } from './native-call.js';
import { invalidOption, type ResolvedOptions } from './options.js';
import { distinctPartitions } from './topic-partitions.js';

/** Records in frames that wait to be taken, in bytes: beyond it the pipe is not read. */
const waitingBytesMax = 1_048_576;
/** Pause before a process that has ended is followed by another one, in milliseconds. */
const restartPauseMs = 500;
const endTimeoutMs = 2_000;

interface Parts {
  readonly options: ResolvedOptions;
  readonly groupId: string;
  /** Of the consumer, for messages. */
  readonly name: string;
}

interface Stream extends KnownStream {
  readonly id: number;
}

export type Taken = { readonly records: ConsumedRecord[]; readonly ends: readonly TopicPartitionOffset[] } | { readonly thrown: unknown };

export class FetchProcess {
  readonly #parts: Parts;
  /** Those that are open, by number and by partition. */
  readonly #byId = new Map<number, Stream>();
  readonly #byPartition = new Map<string, Stream>();
  #lastId = 0;
  #child: ChildProcess | undefined;
  #pipe: Readable | undefined;
  #frames: FrameCursor[] = [];
  #waitingBytes = 0;
  #failure: { readonly thrown: unknown } | undefined;
  #woken: (() => void) | undefined;
  #restart: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Records that wait to be taken, those of streams that were closed included. */
  get queuedRecords(): number {
    return this.#frames.reduce((sum, frame) => sum + frame.recordsLeft, 0);
  }

  /** Reads the partitions from these offsets on, and not from where they were read before. */
  open(starts: readonly TopicPartitionOffset[]): void {
    if (starts.length === 0 || this.#ended) return;
    this.close(starts);
    const opened = distinctPartitions(starts).map(({ topic, partition, offset }) => this.#add({ topic, partition, position: offset }));
    if (this.#child === undefined && this.#restart === undefined) this.#start();
    else this.#send({ open: opened.map(commandOf) });
  }

  close(partitions: readonly TopicPartition[]): void {
    const closed = partitions.flatMap((at) => this.#byPartition.get(partitionName(at)) ?? []);
    for (const stream of closed) {
      this.#byId.delete(stream.id);
      this.#byPartition.delete(partitionName(stream));
    }
    if (closed.length > 0) this.#send({ close: closed.map(({ id }) => id) });
  }

  /** Waits up to the time for a first record, then takes what is there. One call at a time. Never rejects. */
  async take(recordsMax: number, timeoutMs: number): Promise<Taken> {
    const untilMs = performance.now() + timeoutMs;
    for (;;) {
      const failure = this.#failure;
      this.#failure = undefined;
      if (failure !== undefined) return failure;
      const taken = this.#take(recordsMax);
      const leftMs = untilMs - performance.now();
      if (taken.records.length > 0 || taken.ends.length > 0 || leftMs <= 0) return taken;
      const arrival = new Promise<void>((resolve) => {
        this.#woken = resolve;
      });
      await settledWithin(arrival, leftMs);
      this.#woken = undefined;
    }
  }

  /** Has another process go on in place of this one. */
  renew(): void {
    if (this.#child?.pid !== undefined) this.#child.kill('SIGKILL');
  }

  /** Idempotent. */
  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child === undefined) return;
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    if (child.connected) child.disconnect();
    // The pipe is read no more, so whatever waits in it must not keep the other side.
    this.#pipe?.destroy();
    if (!(await settledWithin(exited, endTimeoutMs)) && child.pid !== undefined) child.kill('SIGKILL');
  }

  #add(at: KnownStream): Stream {
    const stream = { ...at, id: ++this.#lastId };
    this.#byId.set(stream.id, stream);
    this.#byPartition.set(partitionName(stream), stream);
    return stream;
  }

  #take(recordsMax: number): { records: ConsumedRecord[]; ends: TopicPartitionOffset[] } {
    const [records, ends]: [ConsumedRecord[], TopicPartitionOffset[]] = [[], []];
    const streamOf = (id: number): Stream | undefined => this.#byId.get(id);
    let passed = 0;
    for (const frame of this.#frames) {
      frame.readRecords(recordsMax, records, streamOf);
      if (frame.recordsLeft > 0) break;
      for (const { stream: id, offset } of frame.readEnds()) {
        const stream = streamOf(id);
        if (stream === undefined) continue;
        stream.position = Math.max(stream.position, offset);
        ends.push({ topic: stream.topic, partition: stream.partition, offset });
      }
      this.#waitingBytes -= frame.bytes;
      passed++;
    }
    if (passed > 0) this.#frames = this.#frames.slice(passed);
    if (this.#waitingBytes <= waitingBytesMax / 2 && this.#pipe?.isPaused() === true) this.#pipe.resume();
    return { records, ends };
  }

  /** Never throws: it is also called by a timer. */
  #start(): void {
    try {
      this.#begin(spawnFetcher());
    } catch (error) {
      this.#startLater(`cannot be started (${errorOf(error).message})`);
    }
  }

  #begin({ child, pipe }: Spawned): void {
    const { options, groupId, name } = this.#parts;
    const { logger, ...sent } = options;
    const assembler = new FrameAssembler();
    this.#child = child;
    this.#pipe = pipe;
    this.#frames = [];
    this.#waitingBytes = 0;
    pipe.on('data', (piece: Buffer) => this.#received(child, assembler.add(piece)));
    pipe.on('error', (error) => logger.debug(`The pipe of the process that fetches for the ${name} has broken: ${error.message}`));
    child.on('message', (event: FetchEvent) => this.#told(child, event));
    child.on('error', (error) => this.#lost(child, error.message));
    child.on('exit', (code, signal) => this.#lost(child, signal ?? `exit code ${code}`));
    this.#send({ start: { options: sent, groupId } });
    // Streams of before may have been read on: where they stand is where they were taken from last.
    const streams = [...this.#byId.values()];
    this.#byId.clear();
    const opened = streams.map((stream) => this.#add(stream));
    if (opened.length > 0) this.#send({ open: opened.map(commandOf) });
  }

  #received(child: ChildProcess, frames: readonly Buffer[]): void {
    if (child !== this.#child || frames.length === 0) return;
    for (const frame of frames) {
      const cursor = new FrameCursor(frame);
      this.#frames.push(cursor);
      this.#waitingBytes += cursor.bytes;
    }
    if (this.#waitingBytes > waitingBytesMax) this.#pipe?.pause();
    this.#woken?.();
  }

  #told(child: ChildProcess, event: FetchEvent): void {
    if (child !== this.#child || this.#ended) return;
    if ('log' in event) this.#parts.options.logger[event.log.level](event.log.message);
    else {
      this.#failure = { thrown: event.failed };
      this.#woken?.();
    }
  }

  #lost(child: ChildProcess, how: string): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    this.#pipe = undefined;
    if (!this.#ended) this.#startLater(`has ended (${how})`);
  }

  #startLater(why: string): void {
    this.#parts.options.logger.warn(`The process that fetches for the ${this.#parts.name} ${why}. Another one follows; nothing is lost.`);
    this.#restart = setTimeout(() => {
      this.#restart = undefined;
      this.#start();
    }, restartPauseMs);
  }

  /** To a process that has ended nothing needs to be said. */
  #send(command: FetchCommand): void {
    if (this.#child?.connected === true) this.#child.send(command, () => {});
  }
}

function commandOf({ id: stream, topic, partition, position: offset }: Stream) {
  return { stream, topic, partition, offset };
}

interface Spawned {
  readonly child: ChildProcess;
  readonly pipe: Readable;
}

/** @throws where the system has no process to spare, or no file descriptors for it */
function spawnFetcher(): Spawned {
  // Whatever else this process is started with (tracing, debugging, profiling) is meant for this one.
  const { NODE_OPTIONS: _own, ...env } = process.env;
  const child = fork(programFile(), [], { execArgv: [], env, stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'ipc'] });
  // Without descriptors it has none of these, and its error comes later. It was never started: to kill it would be to kill process 0, all of this one's group.
  const pipe = (child.stdio as typeof child.stdio | undefined)?.[3];
  if (pipe instanceof Readable) return { child, pipe };
  child.on('error', () => {});
  throw new Error('there is no pipe to it: is the limit of open files reached?');
}

/**
 * Always the built program: a process of its own runs no TypeScript.
 * @throws BrokerError of kind `invalid` where it is not there
 */
export function programFile(): string {
  try {
    return createRequire(import.meta.url).resolve('@tally/kafka/fetch-program');
  } catch (cause) {
    throw invalidOption(
      'fetchProcess',
      'The option `fetchProcess` needs the file dist/fetch-program.js of the package @tally/kafka, which is not there. Install the package whole: its files ' +
        'cannot be bundled into one.',
      cause,
    );
  }
}
