// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'e',
  title: 'restore to the last stable offset only',
  harm: 'The stable committed offset may say "done" while the marker on the changelog is still under way: the restore ends before that commit.',
  seeds: [10, 20, 38],
  edits: [
    {
      file: 'runtime/task-stores.ts',
      find: "this.admin.listOffsets(partitions, 'highWatermark')",
      replace: "this.admin.listOffsets(partitions, 'lastStable')",
    },
  ],
};
