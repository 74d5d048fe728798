// @ts-check

/** @type {import('../mutation.mjs').Mutation} */
export const mutation = {
  letter: 'p',
  title: 'unflushed writes of a closed task flushed after it was reopened',
  harm: 'They are older than what the reopening has replayed, and replace it.',
  seeds: [1, 12],
  edits: [
    {
      file: 'state/layered-store.ts',
      find: '  get flushingCount(): number {',
      replace: `  unflushed(): { key: Uint8Array; value: Uint8Array | null }[] {
    return this.#committed.map(({ mapKey, committed = null }) => ({ key: Buffer.from(this.#databaseKey.ofMapKey(mapKey).subarray(this.#prefixBytes)), value: committed }));
  }

  get flushingCount(): number {`,
    },
    {
      file: 'runtime/task-manager.ts',
      find: '  running: readonly Task[] = [];',
      replace: `  running: readonly Task[] = [];
  private readonly unflushed = new Map<string, { store: string; entries: { key: Uint8Array; value: Uint8Array | null }[] }[]>();`,
    },
    {
      file: 'runtime/task-manager.ts',
      find: '      const closing = this.closeState(slot, task, reason);',
      replace: `      if (!task.state.isWriting)
        this.unflushed.set(slot.id, [...task.state.stores.values()].map((store) => ({ store: store.name, entries: store.unflushed() })));
      const closing = this.closeState(slot, task, reason);`,
    },
    {
      file: 'runtime/task-manager.ts',
      find: '      task = new Task(slot.subTopology, slot.partition, this.environment, opened, opened.ownerRecords);',
      replace: `      for (const { store, entries } of this.unflushed.get(slot.id) ?? []) {
        const position = opened.state.position(store);
        if (position !== undefined) await opened.state.applyRestored(store, entries, position);
      }
      this.unflushed.delete(slot.id);
      task = new Task(slot.subTopology, slot.partition, this.environment, opened, opened.ownerRecords);`,
    },
  ],
};
