// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'b',
  title: 'the position for the flush read after commitTransaction returned instead of before it was called',
  harm: 'Once the transaction has ended a successor may write. The position steps over its writes, and when the task comes back they are not replayed.',
  seeds: [70, 122, 162],
  edits: [
    {
      file: 'runtime/commit.ts',
      find: `    await this.point('frozen', epoch);
    const positions = this.readPositions(frozen.tasks.filter(({ task }) => frozen.toFlush.includes(task)));`,
      replace: "    await this.point('frozen', epoch);",
    },
    { file: 'runtime/commit.ts', find: '    const read = await positions;', replace: '' },
    {
      file: 'runtime/commit.ts',
      find: '    return read;',
      replace: '    return this.readPositions(frozen.tasks.filter(({ task }) => frozen.toFlush.includes(task)));',
    },
  ],
};
