// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'o',
  title: 'a task kept open with one of its inputs revoked',
  harm:
    'What it still processes of that input is committed without its offset, and is processed again after the task has moved. ' +
    'So that the task can go on at all, the offset of the revoked input is left out, and the assertion that a running task owns its inputs.',
  seeds: [390],
  edits: [
    { file: 'runtime/input.ts', find: '  paused = true;', replace: '  paused = true;\n  assigned = true;' },
    {
      file: 'runtime/task-manager.ts',
      find: 'return this.all.filter(({ inputs }) => inputs.some((input) => names.has(partitionName(input))));',
      replace:
        'return this.all.filter(({ inputs }) => inputs.every((input) => names.has(partitionName(input)) || !this.owned.has(input)));',
    },
    {
      file: 'runtime/task-manager.ts',
      find: '    return this.owned.unassign(partitions);',
      replace: `    for (const { topic, partition } of partitions) {
      const input = this.input(topic, partition);
      if (input !== undefined) input.assigned = false;
    }
    return this.owned.unassign(partitions);`,
    },
    {
      file: 'runtime/task-manager.ts',
      find: '    await this.owned.assign(admin, partitions);',
      replace: `    await this.owned.assign(admin, partitions);
    for (const { topic, partition } of partitions) {
      const input = this.input(topic, partition);
      if (input !== undefined) Object.assign(input, { assigned: true, paused: true });
    }`,
    },
    {
      file: 'runtime/owned-partitions.ts',
      find: `      assert(owned !== undefined, \`\${partitionName(input)} is owned while its task runs\`);
      owned.untouchedAt = undefined;`,
      replace: `      assert(inputs.length > 0, 'a task has inputs');
      input.assigned = owned !== undefined;
      if (owned !== undefined) owned.untouchedAt = undefined;`,
    },
    {
      file: 'runtime/task.ts',
      find: 'const offsets = this.inputs.map((input): OffsetToCommit => {',
      replace: 'const offsets = this.inputs.filter(({ assigned }) => assigned).map((input): OffsetToCommit => {',
    },
    {
      file: 'runtime/task.ts',
      find: `    for (const [index, { offset }] of frozen.offsets.entries()) {
      const input = this.inputs[index];`,
      replace: `    for (const { topic, partition, offset } of frozen.offsets) {
      const index = this.inputs.findIndex((each) => each.topic === topic && each.partition === partition);
      const input = this.inputs[index];`,
    },
  ],
};
