/** Builds a scenario's topology with the DSL. */
import { StreamsBuilder, type SubTopology, type Topology } from '@tally/streams';
import { aggregations, groupings } from './families/aggregations.js';
import { globalTable, joinGlobal } from './families/global-tables.js';
import { cogroup, cogroups } from './families/cogroup.js';
import { process } from './families/process.js';
import { stateless } from './families/stateless.js';
import { streamJoins } from './families/stream-joins.js';
import { suppress } from './families/suppress.js';
import { tableJoins } from './families/table-joins.js';
import { tables } from './families/tables.js';
import { sessionAggregations, windowedAggregations, windowings } from './families/windows.js';
import { Build, type BuildOperator, type Node, NotInterpretedError } from './node.js';
import type { Operator, Scenario } from './scenario.js';

/** Operators by what they are applied to; sources and those of several inputs are under `any`. Each family of operators is a file. */
const operators: Readonly<Record<Node['kind'] | 'any', Readonly<Record<string, BuildOperator>>>> = {
  any: { stream: stateless['stream']!, merge: stateless['merge']!, table: tables['table']!, globalTable, cogroup },
  stream: { ...stateless, ...process, ...groupings, ...streamJoins, toTable: tables['toTable']! },
  table: { ...tables, ...groupings, ...suppress, ...tableJoins },
  grouped: { ...aggregations, ...windowings },
  groupedTable: aggregations,
  windowed: windowedAggregations,
  sessionWindowed: sessionAggregations,
  globalTable: {},
  cogrouped: cogroups,
};

export interface Interpreted {
  readonly topology: Topology;
  readonly build: Build;
}

export function interpret(scenario: Scenario, observe: Build['observe']): Interpreted {
  const streams = new StreamsBuilder({ name: 'scenario' });
  const build = new Build(streams, scenario.topology, observe);
  for (const operator of scenario.topology) {
    const node = operatorFor(operator, build)(operator, build);
    if (node !== undefined) build.put(operator.id, node);
  }
  return { topology: inOneTask(streams.build()), build };
}

/** As in the oracle's driver, which has one task for everything: stream time is that of all records together. */
function inOneTask(topology: Topology): Topology {
  const parts = topology.subTopologies;
  const [first] = parts;
  if (first === undefined) return topology;
  const merged: SubTopology = {
    id: first.id,
    nodes: parts.flatMap(({ nodes }) => nodes),
    sourceTopics: parts.flatMap(({ sourceTopics }) => sourceTopics).toSorted(),
    copartitioned: [],
    stores: parts.flatMap(({ stores }) => stores).toSorted(),
  };
  return { ...topology, subTopologies: [merged] };
}

function operatorFor(operator: Operator, build: Build): BuildOperator {
  const kind = typeof operator.from === 'string' ? build.node(operator.from).kind : 'any';
  const found = isWithGlobal(operator, build) ? joinGlobal[operator.op as keyof typeof joinGlobal] : operators[kind][operator.op];
  if (found === undefined)
    throw new NotInterpretedError(`The operator ${operator.op} on ${kind === 'any' ? 'nothing' : kind} is not interpreted yet.`);
  return found;
}

function isWithGlobal(operator: Operator, build: Build): boolean {
  return operator['with'] !== undefined && build.node(operator['with']).kind === 'globalTable';
}
