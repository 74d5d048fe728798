// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'q',
  title: 'what a consume in flight brings after a rewind taken as the next records',
  harm: 'The records between the rewound position and them are passed over.',
  seeds: [7, 14],
  edits: [{ file: 'runtime/input.ts', find: '    this.claiming = 0;\n    this.open = false;', replace: '    this.claiming = 0;' }],
};
