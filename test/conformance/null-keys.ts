/**
 * Before a left or outer join of a stream, however far, Kafka Streams lets records without a key through all repartitions. Tally is told so.
 */
import type { Operator } from './scenario.js';

type Topology = readonly Operator[];

const makesTable = new Set(['table', 'globalTable', 'toTable', 'count', 'reduce', 'aggregate', 'suppress', 'transformValues']);
const keepsKind = new Set(['filter', 'filterNot', 'mapValues', 'join', 'leftJoin', 'outerJoin']);

export function isBeforeLeftJoin(topology: Topology, id: unknown): boolean {
  return topology.some((operator) => {
    if (!inputsOf(topology, operator).includes(id)) return false;
    const isStreamJoin = ['leftJoin', 'outerJoin'].includes(operator.op) && !isTable(topology, operator.from);
    return isStreamJoin || outputsOf(operator).some((next) => isBeforeLeftJoin(topology, next));
  });
}

/** Without tables that a stream is joined with: their records do not pass the join. */
function inputsOf(topology: Topology, operator: Operator): readonly unknown[] {
  const { from } = operator;
  const other = operator['with'];
  return [from, other !== undefined && isTable(topology, other) && !isTable(topology, from) ? undefined : other].flat();
}

function outputsOf(operator: Operator): readonly unknown[] {
  const branches = (operator['branches'] ?? []) as readonly { readonly id: string }[];
  return [operator.id, ...branches.map(({ id }) => id), operator['default']].filter((id) => id !== undefined);
}

function isTable(topology: Topology, id: unknown): boolean {
  const operator = topology.find((each) => each.id === id);
  if (operator === undefined) return false;
  return makesTable.has(operator.op) || (keepsKind.has(operator.op) && isTable(topology, operator.from));
}
