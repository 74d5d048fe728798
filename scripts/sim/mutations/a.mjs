// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'a',
  title: 'LevelDB written before the commit is confirmed',
  harm: 'After an abort or a crash the database holds writes of an epoch that did not happen, and its records are counted once more.',
  seeds: [1, 7, 25],
  edits: [
    {
      file: 'runtime/commit.ts',
      find: '    await this.endTransaction(session);',
      replace: `    for (const { task } of frozen.tasks) {
      if (task.isClosed) continue;
      task.state.confirm();
      if (!task.state.isWriting) await task.state.flush(new Map());
    }
    await this.endTransaction(session);`,
    },
    {
      file: 'runtime/task.ts',
      find: '    this.state.confirm();',
      replace: '',
    },
  ],
};
