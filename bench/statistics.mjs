// @ts-check

/**
 * The smallest sample that at least the given share of all samples does not exceed (nearest rank).
 * @param {ArrayLike<number>} sorted in ascending order
 * @param {number} share between 0 and 1
 */
export function percentile(sorted, share) {
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  const value = sorted[rank - 1];
  if (value === undefined) throw new RangeError('A percentile of no samples does not exist.');
  return value;
}

/** @param {readonly number[]} values at least one, in any order */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError('A median of no values does not exist.');
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/**
 * The median of each field.
 * @template {Record<string, number>} T
 * @param {readonly T[]} rows at least one
 * @returns {T}
 */
export function mediansOf(rows) {
  const fields = Object.keys(rows[0] ?? {}).map((field) => [field, median(rows.map((row) => row[field] ?? NaN))]);
  return Object.fromEntries(fields);
}

/** @param {number} value @param {number} digits */
export function rounded(value, digits) {
  return Number(value.toFixed(digits));
}
