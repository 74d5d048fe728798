// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'g',
  title: 'writes of an aborted epoch kept',
  harm: 'Its records are processed again on top of what they had written before.',
  seeds: [7, 13],
  edits: [
    {
      file: 'runtime/task.ts',
      find: '    this.state.discardCommitting();',
      replace: '    if (this.state.isCommitting) this.state.confirm();',
    },
  ],
};
