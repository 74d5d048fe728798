// @ts-check

/**
 * A plain table: the first column to the left, the others, which hold figures, to the right.
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows each as long as the head
 */
export function table(head, rows) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (/** @type {readonly string[]} */ cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

/** @param {number} value */
export function grouped(value) {
  return Math.round(value).toLocaleString('en-US');
}
