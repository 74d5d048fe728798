/** A directory on a disk that can be filled: a small file system in memory where this process may mount one, else devices that are always full. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const megabytes = 48;
/** Files that LevelDB would make next. */
const filesAhead = 40;

export interface SmallDisk {
  readonly directory: string;
  /** A process that runs notices; otherwise only one that starts. */
  readonly isReal: boolean;
  fill(): void;
  free(): void;
  remove(): void;
}

export function smallDisk(directory: string): SmallDisk {
  mkdirSync(directory, { recursive: true });
  return mount(directory) ? mountedDisk(directory) : trappedDirectory(directory);
}

function mount(directory: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function mountedDisk(directory: string): SmallDisk {
  const filler = join(directory, 'filler');
  return {
    directory,
    isReal: true,
    fill() {
      const file = openSync(filler, 'w');
      try {
        for (let size = 1_048_576; size >= 1; size = Math.floor(size / 2)) writeUntilFull(file, Buffer.alloc(size));
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler, { force: true }),
    remove: () => void execFileSync('umount', [directory], { stdio: 'ignore' }),
  };
}

function writeUntilFull(file: number, block: Buffer): void {
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

/**
 * A database that is opened writes a new manifest, under the next number: each name that it may take leads to a device that refuses every
 * byte. Not so the logs, which it would read to their end, and that device has none.
 */
function trappedDirectory(directory: string): SmallDisk {
  const traps: string[] = [];
  return {
    directory,
    isReal: false,
    fill() {
      const databases = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('/CURRENT'));
      for (const database of databases.map((name) => join(directory, name, '..'))) {
        const taken = readdirSync(database).map((name) => Number(/\d+/.exec(name)?.[0] ?? 0));
        const next = Math.max(...taken) + 1;
        for (let number = next; number < next + filesAhead; number++)
          traps.push(join(database, `MANIFEST-${String(number).padStart(6, '0')}`));
      }
      for (const trap of traps) symlinkSync('/dev/full', trap);
    },
    free() {
      for (const trap of traps.splice(0)) rmSync(trap, { force: true });
    },
    remove() {},
  };
}
