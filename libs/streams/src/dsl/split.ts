/** Parts a stream into branches: one node that chooses, and one behind it for each branch. */
import { InvalidConfigurationError } from '../core/errors.js';
import { passOperator, splitOperator } from '../operators/index.js';
import type { NodeHandle } from '../topology/handles.js';
import type { Position } from './scope.js';

export type Predicates<K, V> = Readonly<Record<string, (value: V, key: K) => boolean>>;

/** What a type predicate says of the values that it lets through. */
export type Narrowed<F, V> = F extends ((value: V, ...rest: never[]) => value is infer R extends V) ? R : V;

/** What a type predicate says of the values that it refuses. */
export type Refused<F, V> = F extends ((value: V, ...rest: never[]) => value is infer R extends V) ? Exclude<V, R> : V;

/** The branch that takes what no predicate took. */
const rest = 'rest';

/** Node of each branch, by its name; `rest` among them. */
export function addSplit<K, V>(at: Position<K, V>, name: string, predicates: Predicates<K, V>): ReadonlyMap<string, NodeHandle<K, V>> {
  const { topology } = at.scope;
  const names = Object.keys(predicates);
  for (const branch of names) checkBranchName(name, branch);
  const nodeName = (branch: string): string => `${name}-${branch}`;
  const branches = Object.entries(predicates).map(([branch, predicate]) => ({ child: nodeName(branch), predicate }));
  const split = topology.processor<K, V, K, V>(at.node, { name, create: splitOperator(branches, nodeName(rest)) });
  return new Map(
    [...names, rest].map((branch) => [branch, topology.processor<K, V, K, V>(split, { name: nodeName(branch), create: passOperator() })]),
  );
}

/** JavaScript puts names that look like numbers before all others, whatever the order in which they were written. */
function checkBranchName(node: string, branch: string): void {
  const cause = branch === rest ? 'takes what no branch took' : /^\d+$/.test(branch) ? 'would lose its place in the order' : undefined;
  if (cause === undefined) return;
  throw new InvalidConfigurationError(
    'INVALID_NAME',
    `A branch of "${node}" cannot be called "${branch}", which ${cause}. Choose another name.`,
    {
      node,
    },
  );
}
