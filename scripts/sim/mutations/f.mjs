// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'f',
  title: 'watermark read before the stable offsets',
  harm:
    'The previous owner may still commit behind the watermark, and the stable offsets that are read then count what the restore does not reach. ' +
    'A replay that happens to bring more than it was asked for would often hide it, so it ends exactly there.',
  seeds: [304, 452],
  edits: [
    { file: 'runtime/task-opener.ts', find: '    const bounds = await this.stores.bounds(sub, partition, starts);', replace: '' },
    {
      file: 'runtime/task-opener.ts',
      find: '    const starts = await this.starts.stable(topics, partition, cancelled);',
      replace: `    const bounds = await this.stores.bounds(sub, partition, []);
    const starts = await this.starts.stable(topics, partition, cancelled);`,
    },
    {
      file: 'runtime/restore.ts',
      find: `      const batch = records.get(name) ?? [];
      const position = reader.position(job.from) ?? job.position;`,
      replace: `      const batch = (records.get(name) ?? []).filter(({ offset }) => offset < job.until);
      const position = Math.min(reader.position(job.from) ?? job.position, job.until);`,
    },
  ],
};
