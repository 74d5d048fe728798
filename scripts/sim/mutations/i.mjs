// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'i',
  title: 'partitions unassigned while a sendOffsets is queued',
  harm: "It reads the member epoch when it runs. By then the member may have a new one, under which the offsets pass although the partitions are another worker's.",
  seeds: [427, 230],
  edits: [{ file: 'runtime/commit-cycle.ts', find: '    await Promise.race([inFlight, this.committer.offsetsIn]);', replace: '' }],
};
