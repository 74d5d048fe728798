/**
 * A worker's slot in the state directory: the lock on a small database, and with it an identity that no other worker has.
 *
 * The lock is LevelDB's own, never a process id: in containers every process is number 1. The identity is made once and kept in the
 * database, so that workers on other disks have other transactional ids, and a restarted process has its predecessor's.
 */
import { type Clock, sleep } from '../core/clock.js';
import { InvalidConfigurationError, TallyError } from '../core/errors.js';
import type { Random } from '../core/random.js';
import type { StoreDatabase, StoreEngine } from '../state/store-engine.js';
import type { Logger } from './hooks.js';
import type { ResolvedOptions } from './options.js';

export interface Slot {
  readonly number: number;
  readonly instanceId: string;
  /** Directory of a task's database. */
  taskDirectory(taskId: string): string;
  release(): Promise<void>;
}

const identityKey = Buffer.from('instance-id', 'utf8');
const retryDelayMs = 250;

/** The slot that this process held last, by application directory: a restart in the same process comes back to its own state. */
const lastSlots = new Map<string, number>();

/** A slot whose lock this worker has. */
interface Held {
  readonly number: number;
  readonly database: StoreDatabase;
  /** Nothing in a slot that nobody has used. */
  readonly instanceId: string | undefined;
}

/**
 * Takes the first free slot that has been used before, so that a restarted process has its predecessor's state and identity. One that nobody
 * has used is taken only when those before it stay locked: a predecessor may be about to end, and beside a worker that goes on the wait
 * happens once.
 * @throws InvalidConfigurationError `STATE_LOCKED` when all slots stay locked for `lockTimeoutMs`, naming the directory.
 */
export async function takeSlot(engine: StoreEngine, options: ResolvedOptions, clock: Clock, random: Random, logger: Logger): Promise<Slot> {
  const base = `${options.stateDirectory}/${options.applicationId}`;
  const untilMs = clock.monotonicMs() + options.lockTimeoutMs;
  const order = searchOrder(base, options.slotsMax);
  let unused: Held | undefined;
  let taken: Held | undefined;
  let hasWarned = false;
  try {
    for (;;) {
      const found = await search(engine, base, order, unused);
      unused = found.unused;
      const isOver = found.locked.length === 0 || clock.monotonicMs() >= untilMs;
      taken = found.used ?? (isOver ? unused : undefined);
      if (taken !== undefined) return await keep(base, taken, random);
      if (isOver) throw allLocked(base, options.slotsMax);
      if (!hasWarned) logger.warn(waitsFor(found.locked, base, options.lockTimeoutMs));
      hasWarned = true;
      await sleep(clock, retryDelayMs);
    }
  } finally {
    if (unused !== taken) await unused?.database.close();
  }
}

function searchOrder(base: string, slotsMax: number): readonly number[] {
  const order = Array.from({ length: slotsMax }, (_, index) => index);
  const last = lastSlots.get(base);
  return last === undefined ? order : order.sort((left, right) => Number(right === last) - Number(left === last));
}

/** Looks for a free slot up to the first that nobody has used; that one is `unused` if it is held already. */
async function search(
  engine: StoreEngine,
  base: string,
  order: readonly number[],
  unused: Held | undefined,
): Promise<{ readonly used?: Held; readonly unused: Held | undefined; readonly locked: readonly number[] }> {
  const locked: number[] = [];
  for (const number of order) {
    if (number === unused?.number) break;
    const database = await tryOpen(engine, `${base}/${number}/slot`);
    if (database === undefined) {
      locked.push(number);
      continue;
    }
    const held = { number, database, instanceId: identityIn(database) };
    if (held.instanceId !== undefined) return { used: held, unused, locked };
    return { unused: held, locked };
  }
  return { unused, locked };
}

async function keep(base: string, { number, database, instanceId }: Held, random: Random): Promise<Slot> {
  try {
    const slot = slotOf(base, number, database, instanceId ?? (await newIdentity(database, random)));
    lastSlots.set(base, number);
    return slot;
  } catch (error) {
    await database.close();
    throw error;
  }
}

function waitsFor(locked: readonly number[], base: string, lockTimeoutMs: number): string {
  return (
    `Slots of '${base}' are locked (${locked.join(', ')}) by running (or stopped, but not ended) processes. This worker waits for them up to ` +
    `${lockTimeoutMs} ms before it takes one that nobody has used, for that has neither their state nor their identity.`
  );
}

function allLocked(base: string, slotsMax: number): InvalidConfigurationError {
  return new InvalidConfigurationError(
    'STATE_LOCKED',
    `All ${slotsMax} slots of the state directory '${base}' are locked by running (or stopped, but not ended) processes. ` +
      `End one of them, raise slotsMax, or give this worker a stateDirectory of its own.`,
    { option: 'stateDirectory' },
  );
}

async function tryOpen(engine: StoreEngine, directory: string): Promise<StoreDatabase | undefined> {
  try {
    return await engine.open(directory);
  } catch (error) {
    if (error instanceof TallyError && error.code === 'STATE_LOCKED') return undefined;
    throw error;
  }
}

function identityIn(database: StoreDatabase): string | undefined {
  const known = database.getSync(identityKey);
  return known === undefined ? undefined : Buffer.from(known).toString('utf8');
}

async function newIdentity(database: StoreDatabase, random: Random): Promise<string> {
  const digits = Array.from({ length: 12 }, () => Math.floor(random.next() * 36).toString(36)).join('');
  const batch = database.batch();
  batch.put(identityKey, Buffer.from(digits, 'utf8'));
  await batch.write();
  return digits;
}

function slotOf(base: string, number: number, database: StoreDatabase, instanceId: string): Slot {
  return {
    number,
    instanceId,
    taskDirectory: (taskId) =>
      `${base}/${number}/tasks/${taskId.replace(/[^a-zA-Z0-9._-]/g, (character) => `%${character.codePointAt(0)?.toString(16) ?? ''}`)}`,
    release: () => database.close(),
  };
}
