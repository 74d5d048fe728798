// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'r',
  title: "a new disk's missing state taken as no state",
  harm: 'Where the committed offsets have expired, everything is processed from the beginning on top of what the changelog holds.',
  seeds: [246, 320],
  edits: [
    {
      file: 'runtime/input-starts.ts',
      find: '  private refuseExpired(state: TaskState, topic: InputTopic, partition: number): void {',
      replace: `  private refuseExpired(state: TaskState, topic: InputTopic, partition: number): void {
    if (state.isNew) return;`,
    },
  ],
};
