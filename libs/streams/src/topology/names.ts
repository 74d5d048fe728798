import { InvalidConfigurationError } from '../core/errors.js';

const allowedCharacters = /^[a-zA-Z0-9._-]+$/;

/** Kafka's own limit. */
export const topicNameLengthMax = 249;

/** Leaves room for the application id, `-changelog` and `-repartition` within a topic's name. */
export const internalNameLengthMax = 100;

/**
 * Checks a name that becomes a topic's, or a part of one.
 * @throws InvalidConfigurationError `INVALID_NAME`
 */
export function checkName(what: string, name: string, lengthMax: number): void {
  if (typeof name !== 'string' || name.length === 0)
    throw invalid(what, typeof name === 'string' ? name : typeof name, 'it is empty or no text');
  if (name.length > lengthMax) throw invalid(what, name, `it has ${name.length} characters, ${lengthMax} are allowed`);
  if (!allowedCharacters.test(name)) throw invalid(what, name, 'only a-z, A-Z, 0-9, ".", "_" and "-" are allowed');
  if (name === '.' || name === '..') throw invalid(what, name, 'Kafka reserves it');
}

function invalid(what: string, name: string, cause: string): InvalidConfigurationError {
  return new InvalidConfigurationError('INVALID_NAME', `The ${what} "${name}" cannot have this name: ${cause}. Choose another one.`);
}

/** Checks a whole number within bounds. @throws InvalidConfigurationError `INVALID_OPTION` */
export function checkInteger(owner: string, option: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new InvalidConfigurationError(
    'INVALID_OPTION',
    `The option "${option}" of ${owner} must be a whole number from ${least} to ${most}, not ${String(value)}.`,
    { option },
  );
}

/** Checks that a serde was given. @throws InvalidConfigurationError `INVALID_OPTION` */
export function checkSerde(owner: string, option: string, serde: unknown): void {
  const candidate = serde as { readonly serialize?: unknown; readonly deserialize?: unknown } | null | undefined;
  if (typeof candidate?.serialize === 'function' && typeof candidate.deserialize === 'function') return;
  throw new InvalidConfigurationError(
    'INVALID_OPTION',
    `The option "${option}" of ${owner} must be a serde, for example string() or json().`,
    {
      option,
    },
  );
}
