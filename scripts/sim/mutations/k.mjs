// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'k',
  title: 'a late asynchronous handler allowed to write into the next incarnation',
  harm: 'What it read before the abort is out of date, and its record is processed once more.',
  seeds: [122, 124],
  edits: [
    {
      file: 'runtime/dispatcher.ts',
      find: '      flight.scope?.close(reason);',
      replace: `      if (flight.state === 'running') continue;
      flight.scope?.close(reason);`,
    },
    {
      file: 'runtime/dispatcher.ts',
      find: '    this.line = [];',
      replace: "    this.line = this.line.filter(({ state }) => state === 'running');",
    },
  ],
};
