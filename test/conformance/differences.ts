/**
 * Scenarios in which Tally differs on purpose, with the reason; docs/differences-from-kafka-streams.md says more. At most five: everything else that
 * differs is a bug.
 */
export const deliberate: ReadonlyMap<string, string> = new Map([
  [
    'emit-on-close-throttled',
    'closed windows come out when stream time has passed them, not at most once a second of the clock on the wall',
  ],
  ['sliding-zero-difference', 'sliding windows without a length are refused where they are declared, not when the first record comes'],
  ['operator-failure-skipped', 'a record that fails is taken back whole, not only in the branch that failed'],
  ['outer-throttled', 'unmatched results of stream joins do not wait for the clock on the wall'],
  ['stream-versioned-table-grace-null-key', 'a record without a key is dropped and counted, instead of stopping the task'],
]);
