const differencesMax = 5;

/** @returns the first differences, in words. */
export function compareContents(
  what: string,
  expected: ReadonlyMap<string, string>,
  actual: ReadonlyMap<string, string> = new Map(),
): string[] {
  const problems: string[] = [];
  for (const key of new Set([...expected.keys(), ...actual.keys()])) {
    const [wanted, found] = [expected.get(key), actual.get(key)];
    if (wanted !== found) problems.push(`${what} has ${found ?? 'nothing'} under ${key}, expected ${wanted ?? 'nothing'}`);
  }
  return problems.slice(0, differencesMax);
}
