/** Reading of command-line options: strict, and with messages that name the option. */

export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/**
 * @param text what was given, or undefined for the default
 * @throws ArgumentError unless it is a whole number from `min` to `max`
 */
export function wholeNumber(option: string, text: string | undefined, fallback: number, min: number, max: number): number {
  if (text === undefined) return fallback;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw new ArgumentError(`--${option} must be a whole number from ${min} to ${max}; it is '${text}'.`);
  return value;
}

/** Turns what `parseArgs` throws (an unknown option, a missing value) into an `ArgumentError` that ends with the usage. */
export function withUsage<T>(usage: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const known =
      error instanceof ArgumentError || (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'));
    if (!known) throw error;
    throw new ArgumentError(`${error.message}\n\n${usage}`);
  }
}
