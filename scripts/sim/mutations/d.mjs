// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'd',
  title: 'offsets sent without the group metadata',
  harm:
    'The group takes them as those of a producer that is no member, and fences nothing: what a zombie processed is committed beside what its successor did. ' +
    'The broker port asks the consumer for the metadata, and whether it still holds the partitions; here it gets one that knows of no group membership.',
  seeds: [1, 2],
  edits: [
    {
      file: 'runtime/commit.ts',
      find: '        await session.producer.sendOffsets(offsets, this.consumer);',
      replace: `        const noMember = { groupId: this.options.applicationId, memberId: '', memberEpoch: -1 };
        const stranger: GroupConsumer = Object.create(this.consumer, { identity: { value: () => noMember }, requireHeld: { value() {} } });
        await session.producer.sendOffsets(offsets, stranger);`,
    },
  ],
};
