/** Union-find over names. Members of one set have the same representative. */
export class DisjointSets {
  private readonly parents = new Map<string, string>();

  find(member: string): string {
    let root = member;
    for (let parent = this.parents.get(root); parent !== undefined; parent = this.parents.get(root)) root = parent;
    return root;
  }

  union(left: string, right: string): void {
    const leftRoot = this.find(left);
    const rightRoot = this.find(right);
    if (leftRoot !== rightRoot) this.parents.set(rightRoot, leftRoot);
  }

  unionAll(members: readonly string[]): void {
    const [first] = members;
    if (first === undefined) return;
    for (const member of members) this.union(first, member);
  }

  /** The sets that the members fall into, in the order of their first member. */
  groups(members: Iterable<string>): string[][] {
    const byRoot = new Map<string, string[]>();
    for (const member of members) {
      const root = this.find(member);
      const group = byRoot.get(root);
      if (group === undefined) byRoot.set(root, [member]);
      else group.push(member);
    }
    return [...byRoot.values()];
  }
}
