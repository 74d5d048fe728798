// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'h',
  title: 'the input not rewound after an abort',
  harm: 'The records of the aborted epoch are passed over.',
  seeds: [7, 8],
  edits: [{ file: 'runtime/task.ts', find: '    for (const input of this.inputs) input.rewind(input.committed);', replace: '' }],
};
