// @ts-check
/** The input of the benchmark: a seeded sequence of payments, the same for every program that asks for it. */

/**
 * @typedef {object} PaymentSource
 * @property {() => { index: number, account: number, amount: number }} next
 */

/**
 * @param {number} seed
 * @param {number} keys accounts are 0 to keys - 1, uniformly
 * @returns {PaymentSource}
 */
export function paymentSource(seed, keys) {
  const random = seededRandom(seed);
  let index = 0;
  return { next: () => ({ index: index++, account: Math.floor(random() * keys), amount: Math.floor(random() * 10_000) }) };
}

/** @param {number} account */
export function accountName(account) {
  return `acct-${String(account).padStart(7, '0')}`;
}

/**
 * The record's value, about 90 bytes.
 * @param {{ index: number, account: number, amount: number }} payment
 */
export function paymentJson({ index, account, amount }) {
  return `{"eventId":"payment-${String(index).padStart(9, '0')}","account":"${accountName(account)}","amount":${amount},"currency":"EUR"}`;
}

/**
 * Sum of the amounts per account name over the first records of the sequence.
 * @param {number} seed @param {number} keys @param {number} records
 * @returns {Map<string, number>}
 */
export function expectedSums(seed, keys, records) {
  const source = paymentSource(seed, keys);
  const sums = new Float64Array(keys);
  const seen = new Uint8Array(keys);
  for (let left = records; left > 0; left--) {
    const { account, amount } = source.next();
    sums[account] = (sums[account] ?? 0) + amount;
    seen[account] = 1;
  }
  /** @type {Map<string, number>} */
  const named = new Map();
  for (let account = 0; account < keys; account++) if (seen[account] === 1) named.set(accountName(account), sums[account] ?? 0);
  return named;
}

/**
 * Mulberry32: the same numbers on every machine.
 * @param {number} seed
 * @returns {() => number} uniform in [0, 1)
 */
function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
