// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'c',
  title: 'the position read, then a failed commit, then used',
  harm: 'Where the offsets were refused another worker has owned the task: the position steps over its writes, and when the task comes back they are not replayed.',
  seeds: [54, 94, 141],
  edits: [
    {
      file: 'runtime/commit.ts',
      find: '  private offsetsAreIn: () => void = () => {};',
      replace: `  private offsetsAreIn: () => void = () => {};
  lastRead: FlushPositions = new Map();`,
    },
    {
      file: 'runtime/commit.ts',
      find: `    await this.point('frozen', epoch);
    const positions = this.readPositions(frozen.tasks.filter(({ task }) => frozen.toFlush.includes(task)));`,
      replace: `    await this.point('frozen', epoch);
    const positions = this.readPositions(frozen.tasks.filter(({ task }) => frozen.toFlush.includes(task))).then((read) => (this.lastRead = read));`,
    },
    {
      file: 'runtime/commit-cycle.ts',
      find: '    this.failure = { error: failed, frozen };',
      replace: `    for (const each of frozen.tasks) this.flushAfter(each, this.committer.lastRead);
    this.failure = { error: failed, frozen };`,
    },
  ],
};
