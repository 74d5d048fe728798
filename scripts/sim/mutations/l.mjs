// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'l',
  title: 'an abortable error of the commit taken as proof that it failed',
  harm: 'The commit has taken effect all the same, and its records are processed again. The failure of the abort that follows would have told.',
  seeds: [12],
  edits: [
    {
      file: 'runtime/recovery.ts',
      find: '      return false;\n    }\n    environment.counters.transactionsAborted++;',
      replace: `      await this.session?.replace(() => !environment.isStopping);
    }
    environment.counters.transactionsAborted++;`,
    },
  ],
};
