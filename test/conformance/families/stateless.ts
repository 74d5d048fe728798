/** Sources and operators without state. */
import { flatMapper, flatValueMapper, keySelector, predicate, valueMapper } from '../functions.js';
import { isBeforeLeftJoin } from '../null-keys.js';
import { type Build, type BuildOperator, type Node, type StreamNode, topicsOf } from '../node.js';
import { type Operator, requiredText, textField } from '../scenario.js';
import { isSameType, nullableSerdeOf, textOf, type Type, typeNamed } from '../types.js';

export const stateless: Readonly<Record<string, BuildOperator>> = {
  stream(operator, build) {
    const key = typeNamed(textField(operator, 'keyType'));
    const value = typeNamed(textField(operator, 'valueType'));
    const [first, ...others] = topicsOf(operator).map((name) => build.input(name, key, value, textField(operator, 'timestamps')));
    if (first === undefined) throw new Error('A stream has no topic.');
    return { kind: 'stream', stream: build.streams.stream([first, ...others]), key, value };
  },

  merge(operator, build) {
    const [first, ...others] = (operator.from as readonly string[]).map((id) => build.nodeOf(id, 'stream'));
    if (first === undefined) throw new Error('A merge has no stream.');
    let { stream } = first;
    for (const other of others) {
      if (!isSameType(first.key, other.key) || !isSameType(first.value, other.value))
        throw new Error('Merged streams have different types.');
      stream = stream.merge(other.stream);
    }
    return { ...first, stream };
  },

  filter: onStream((operator, { stream, key, value }) => stream.filter(predicate(requiredText(operator, 'predicate'), value, key))),
  filterNot: onStream((operator, { stream, key, value }) => stream.filterNot(predicate(requiredText(operator, 'predicate'), value, key))),

  map(operator, build) {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    const toKey = keySelector(requiredText(operator, 'key'), key, value);
    const toValue = valueMapper(requiredText(operator, 'value'), value, key);
    const mapped = stream.mapRecord((v, k) => [toKey.call(v, k), toValue.call(v, k)], serdes(toKey.type, toValue.type));
    return { kind: 'stream', stream: mapped, key: toKey.type, value: toValue.type };
  },

  mapValues(operator, build) {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    const mapper = valueMapper(requiredText(operator, 'mapper'), value, key);
    return { kind: 'stream', stream: stream.map(mapper.call, { value: nullableSerdeOf(mapper.type) }), key, value: mapper.type };
  },

  flatMap(operator, build) {
    const from = build.nodeOf(operator.from, 'stream');
    const { call, key, value } = flatMapper(requiredText(operator, 'mapper'), from.key, from.value);
    return { kind: 'stream', stream: from.stream.flatMapRecord(call, serdes(key, value)), key, value };
  },

  flatMapValues(operator, build) {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    const mapper = flatValueMapper(requiredText(operator, 'mapper'), value);
    return { kind: 'stream', stream: stream.flatMap(mapper.call, { value: nullableSerdeOf(mapper.type) }), key, value: mapper.type };
  },

  selectKey(operator, build) {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    const selector = keySelector(requiredText(operator, 'selector'), key, value);
    return { kind: 'stream', stream: stream.selectKey(selector.call, { key: nullableSerdeOf(selector.type) }), key: selector.type, value };
  },

  peek(operator, build) {
    const node = build.nodeOf(operator.from, 'stream');
    const id = requiredText(operator, 'id');
    return { ...node, stream: node.stream.peek((value, key) => build.observe(id, node, key, value)) };
  },

  foreach(operator, build) {
    const node = build.nodeOf(operator.from, 'stream');
    const id = requiredText(operator, 'id');
    node.stream.forEach((value, key) => build.observe(id, node, key, value));
    return undefined;
  },

  split(operator, build) {
    const node = build.nodeOf(operator.from, 'stream');
    const branches = operator['branches'] as readonly { readonly id: string; readonly predicate: string }[];
    // Names of branches are properties, and those of scenarios may be any text.
    const named = branches.map((branch, index) => [`branch-${index}`, predicate(branch.predicate, node.value, node.key)] as const);
    const streams = node.stream.split(Object.fromEntries(named));
    for (const [index, { id }] of branches.entries()) build.put(id, { ...node, stream: streams[`branch-${index}`]! });
    const rest = textField(operator, 'default');
    if (rest !== undefined) build.put(rest, { ...node, stream: streams.rest });
    return undefined;
  },

  repartition(operator, build) {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    const name = textField(operator, 'name');
    const keepsNullKeys = isBeforeLeftJoin(build.topology, operator.id);
    const through = stream.repartition({ ...serdes(key, value), ...(name === undefined ? {} : { name }), keepsNullKeys });
    // Its keys are never null otherwise, which the type of a scenario's streams does not say.
    return { kind: 'stream', stream: through as unknown as StreamNode['stream'], key, value };
  },

  to(operator, build) {
    const { stream, key, value } = build.nodeOf(operator.from, 'stream');
    const selector = textField(operator, 'topicSelector');
    if (selector !== undefined) {
      const chosen = keySelector(selector, key, value);
      stream.toRouted((v, k) => build.output(textOf(chosen.call(v, k), chosen.type), key, value));
      return undefined;
    }
    const output = build.output(requiredText(operator, 'topic'), key, value);
    // A scenario may read a topic as something else than what it writes there; a handle stands for one type.
    if (build.isReadAs(output.name, key, value)) stream.to(output);
    else stream.toRouted(() => output);
    return undefined;
  },
};

function serdes(key: Type, value: Type) {
  return { key: nullableSerdeOf(key), value: nullableSerdeOf(value) };
}

/** An operator that keeps the types of its stream. */
function onStream(make: (operator: Operator, node: StreamNode, build: Build) => StreamNode['stream']): BuildOperator {
  return (operator, build): Node => {
    const node = build.nodeOf(operator.from, 'stream');
    return { ...node, stream: make(operator, node, build) };
  };
}
