// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'm',
  title: 'start offsets committed outside the transaction',
  harm: 'The consumer sends them late and without a fence for each partition: they overwrite offsets of later transactions, and whoever opens the task then repeats these.',
  seeds: [65, 87],
  edits: [
    {
      file: 'runtime/task.ts',
      find: 'if (this.ownerRecords.size > 0 || this.inputs.some((input) => input.initial))',
      replace: 'if (this.ownerRecords.size > 0)',
    },
    { file: 'runtime/task-manager.ts', find: '    gate: ConsumerGate,', replace: '    private readonly gate: ConsumerGate,' },
    {
      file: 'runtime/task-manager.ts',
      find: '    this.running = [...this.running, task];',
      replace: `    this.running = [...this.running, task];
    void this.commitStarts(task.inputs);`,
    },
    {
      file: 'runtime/task-manager.ts',
      find: '  private route(topic: string, partition: number, input: Input | undefined): void {',
      replace: `  private async commitStarts(inputs: readonly Input[]): Promise<void> {
    const starts = inputs.map(({ topic, partition, committed }) => ({ topic, partition, offset: committed, metadata: '' }));
    while (starts.length > 0 && !this.environment.isStopping) {
      try {
        return await this.gate.consumer.commitOffsets(starts);
      } catch {
        await new Promise<void>((resolve) => this.environment.clock.after(200, resolve));
      }
    }
  }

  private route(topic: string, partition: number, input: Input | undefined): void {`,
    },
  ],
};
