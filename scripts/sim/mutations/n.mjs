// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'n',
  title: "a key's next asynchronous record started before its predecessor joined",
  harm: "It reads the key's state as it was before its predecessor, whose update is lost.",
  seeds: [2, 3],
  edits: [{ file: 'runtime/dispatcher.ts', find: '      if (this.busyKeys.has(ownKey)) return false;', replace: '' }],
};
