// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'j',
  title: "a punctuator's epoch committed without its task's offsets",
  harm:
    'Nothing fences it: the punctuation of a zombie is committed beside that of its successor. ' +
    'The assertion that no epoch is committed without offsets goes too, for it would end the worker first.',
  seeds: [78, 95],
  edits: [
    {
      file: 'runtime/task.ts',
      find: '      offsets,\n',
      replace: '      offsets: this.units > 0 && this.units === this.otherUnits ? [] : offsets,\n',
    },
    {
      file: 'runtime/commit.ts',
      find: "    assert(offsets.length > 0, 'an epoch without offsets is never committed');",
      replace: '',
    },
  ],
};
