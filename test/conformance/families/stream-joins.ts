/** Joins of a stream with another one, or with a table. */
import type { StreamJoinOptions } from '@tally/streams';
import { joiner } from '../functions.js';
import { type Build, type BuildOperator, NotInterpretedError, type StreamNode } from '../node.js';
import { numberField, type Operator, requiredText } from '../scenario.js';
import { type Data, nullableSerdeOf, type Type } from '../types.js';

type Kind = 'join' | 'leftJoin' | 'outerJoin';
type Stream = StreamNode['stream'];
type Join = (left: Data, right: Data, key: Data) => Data;

export const streamJoins: Readonly<Record<string, BuildOperator>> = {
  join: onStream('join'),
  leftJoin: onStream('leftJoin'),
  outerJoin: onStream('outerJoin'),
};

function onStream(kind: Kind): BuildOperator {
  return (operator, build) => {
    const left = build.nodeOf(operator.from, 'stream');
    const right = build.node(operator['with']);
    const { call, type } = joiner(requiredText(operator, 'joiner'), left.value, right.value, left.key);
    const stream = joined(kind, operator, build, left.stream, call, type);
    return { kind: 'stream', stream, key: left.key, value: type };
  };
}

function joined(kind: Kind, operator: Operator, build: Build, left: Stream, join: Join, type: Type): Stream {
  const other = build.node(operator['with']);
  const options = { value: nullableSerdeOf(type), ...(operator['name'] === undefined ? {} : { name: requiredText(operator, 'name') }) };
  if (other.kind === 'stream') return withStream(kind, left, other.stream, join, { ...options, ...windowOf(operator) });
  if (other.kind !== 'table') throw new NotInterpretedError(`The operator ${kind} of a stream and a ${other.kind} is not interpreted yet.`);
  if (kind === 'outerJoin') throw new Error('A stream has no outer join with a table.');
  const graceMs = numberField(operator, 'graceMs');
  const settings = { ...options, ...(graceMs === undefined ? {} : { graceMs }) };
  if (kind === 'leftJoin') return left.leftJoin(other.table, join, settings);
  // Its keys are never null, which the type of a scenario's streams does not say.
  return left.join(other.table, join, settings) as unknown as Stream;
}

function withStream(kind: Kind, left: Stream, right: Stream, join: Join, options: StreamJoinOptions<Data>): Stream {
  if (kind === 'outerJoin') return left.outerJoin(right, join, options);
  if (kind === 'leftJoin') return left.leftJoin(right, join, options);
  return left.join(right, join, options) as unknown as Stream;
}

function windowOf(operator: Operator): Pick<StreamJoinOptions<Data>, 'beforeMs' | 'afterMs' | 'graceMs'> {
  const { beforeMs, afterMs, graceMs = 0 } = operator['window'] as { beforeMs: number; afterMs: number; graceMs?: number };
  return { beforeMs, afterMs, graceMs };
}
