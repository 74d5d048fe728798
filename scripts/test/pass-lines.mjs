// @ts-check

/**
 * Passes on those lines of an output that look like a pattern, as they come.
 *
 * @param {RegExp} pattern
 * @param {(line: string) => void} [write]
 * @returns {(text: string) => void}
 */
export function passLines(pattern, write = (line) => process.stdout.write(line)) {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (pattern.test(line)) write(`${line}\n`);
  };
}
