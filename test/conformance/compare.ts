/** Compares what came of a scenario with what the oracle says, and shows a difference side by side. */
import type { Result, ResultRecord, StoreRow } from './scenario.js';

/** What is compared: everything that the oracle promises, in this order. */
interface Comparable {
  readonly outputs: readonly string[];
  readonly observed: readonly string[];
  readonly stores: readonly string[];
  readonly dropped: readonly string[];
  readonly error: readonly string[];
}

/** Empty when they agree; else the lines to print. */
export function differences(expected: Result, actual: Result): string[] {
  const left = comparable(expected);
  const right = comparable(actual);
  return (Object.keys(left) as (keyof Comparable)[]).flatMap((part) => {
    const texts = withoutGeneratedNames(left[part], right[part]);
    return isEqual(...texts) ? [] : [`  ${part}`, ...sideBySide(...texts)];
  });
}

const repartitionTopics = /oracle-[\w.-]+-repartition/g;
const generatedTopics = /oracle-K(?:STREAM|TABLE)-[A-Z-]+\d+-repartition/g;

/** Values may name internal topics. Names that nobody gave are made differently. */
function withoutGeneratedNames(expected: readonly string[], actual: readonly string[]): [string[], string[]] {
  const masked = 'a generated topic';
  const left = expected.map((line) => line.replace(generatedTopics, masked));
  const given = new Set(left.flatMap((line) => line.match(repartitionTopics) ?? []));
  return [left, actual.map((line) => line.replace(repartitionTopics, (name) => (given.has(name) ? name : masked)))];
}

function comparable(result: Result): Comparable {
  const failed = result.error !== undefined;
  return {
    outputs: result.outputs.map(recordText),
    observed: (result.observed ?? []).map(({ event, id, key, value }) => `${event ?? '-'} ${id} ${JSON.stringify([key, value])}`),
    stores: Object.keys(result.stores)
      .toSorted()
      .flatMap((name) => result.stores[name]!.map((row) => `${name} ${rowText(row)}`)),
    // What a task had counted when it died says nothing.
    dropped: failed ? [] : [String(result.dropped)],
    error: failed ? [`error at event ${result.errorEvent ?? 'none: when built'}`] : [],
  };
}

function recordText({ event, topic, key, value, timestamp, headers = [] }: ResultRecord): string {
  // Tally reads an absent header value as an empty one.
  const shown = headers.map(([name, of]) => `${name}=${of ?? ''}`).join(';');
  return `${event} ${topic} ${JSON.stringify(key)} ${JSON.stringify(value)} @${timestamp}${shown === '' ? '' : ` {${shown}}`}`;
}

function rowText({ key, value, timestamp, validTo }: StoreRow): string {
  const times = `${timestamp === undefined ? '' : ` @${timestamp}`}${validTo === undefined ? '' : ` until ${validTo}`}`;
  return `${JSON.stringify(key)} ${JSON.stringify(value)}${times}`;
}

function isEqual(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((line, index) => line === right[index]);
}

const columnMax = 70;
/** Lines that agree are shown around a difference only. */
const contextLines = 2;

function sideBySide(expected: readonly string[], actual: readonly string[]): string[] {
  const count = Math.max(expected.length, actual.length);
  const width = Math.min(columnMax, Math.max(8, ...expected.map(({ length }) => length)));
  const differs = Array.from({ length: count }, (_none, index) => expected[index] !== actual[index]);
  const lines = [`      ${'expected'.padEnd(width)}   Tally`];
  let skipped = 0;
  for (let index = 0; index < count; index++) {
    const near = differs.slice(Math.max(0, index - contextLines), index + contextLines + 1).includes(true);
    if (!near) {
      skipped++;
      continue;
    }
    if (skipped > 0) lines.push(`      (${skipped} equal)`);
    skipped = 0;
    lines.push(`    ${differs[index] === true ? '!' : ' '} ${(expected[index] ?? '').padEnd(width)}   ${actual[index] ?? ''}`);
  }
  return lines;
}
