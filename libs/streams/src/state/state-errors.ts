import { CorruptDataError, InvalidConfigurationError, TallyError } from '../core/errors.js';
import { dataKind, indexKind, reservedKind } from './layout.js';

/** A call on a database, store or task state after it was closed. */
export function stateClosedError(what: string): TallyError {
  return new TallyError({
    code: 'STATE_CLOSED',
    kind: 'closed',
    message: `The state of ${what} is closed. Whoever uses it has outlived its task; open the task again and read there.`,
  });
}

export function stateLockedError(directory: string, cause: unknown): TallyError {
  return new InvalidConfigurationError(
    'STATE_LOCKED',
    `The state directory ${directory} is in use by another process or worker. Stop that one, or give this one a directory of its own.`,
    undefined,
    cause,
  );
}

export function stateUnwritableError(directory: string, detail: string, cause: unknown): TallyError {
  return new InvalidConfigurationError(
    'STATE_UNWRITABLE',
    `The state directory ${directory} cannot be read or written (${detail}). Let the user that runs this process own it, or set stateDirectory to a local directory that it owns.`,
    undefined,
    cause,
  );
}

export function stateDiskFullError(directory: string, cause: unknown): TallyError {
  return new InvalidConfigurationError(
    'STATE_DISK_FULL',
    `The disk of the state directory ${directory} is full. Free space there and start again; nothing that was committed is lost.`,
    undefined,
    cause,
  );
}

export function stateCorruptError(directory: string, detail: string, cause?: unknown): TallyError {
  return new CorruptDataError(
    'STATE_CORRUPT',
    `The state in directory ${directory} is damaged (${detail}). It is rebuilt from the changelog once it is deleted; if damage comes back, check the disk.`,
    undefined,
    cause,
  );
}

export function stateFormatNewerError(directory: string, found: number, known: number): TallyError {
  return new InvalidConfigurationError(
    'STATE_FORMAT_NEWER',
    `The state in directory ${directory} has format ${found}; this version of Tally knows formats up to ${known}. Start the newer version again, or set stateDirectory to an empty directory: the state is then rebuilt from the changelog.`,
  );
}

/** A changelog record's key must be a physical key of this layout. */
export function checkRestoredKey(storeName: string, key: Uint8Array): void {
  if (key[0] === reservedKind || key[0] === dataKind || key[0] === indexKind) return;
  const detail = key.byteLength === 0 ? 'an empty key' : `a key of unknown kind ${key[0]}`;
  throw new CorruptDataError(
    'CHANGELOG_KEY_CORRUPT',
    `The changelog of store ${storeName} holds a record with ${detail}: it was not written by this version of Tally. Nothing else may write to changelog topics.`,
    { store: storeName },
  );
}
