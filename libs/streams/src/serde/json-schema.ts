/** Validation by a Standard Schema, which may ask for bigints where plain JSON text has integers. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidConfigurationError } from '../core/errors.js';
import { assignOwn } from './json-text.js';

type Path = readonly PropertyKey[];
type Issues = readonly StandardSchemaV1.Issue[];

/** Paths beyond this many are not remembered: they come from objects with free keys. */
const learnedPathsMax = 64;
/** Stands for every index of an array. */
const anyIndex = '*';

/** The value does not fit the schema. */
export class SchemaMismatch extends Error {
  constructor(issues: Issues) {
    super(issues.slice(0, 5).map(describeIssue).join('; '));
    this.name = 'SchemaMismatch';
  }
}

/**
 * Text from other programs writes integers in one way only, so where the schema refuses a number that is an integer, a bigint is tried,
 * and where it refuses a bigint, a number that is equal. Paths where a bigint was wanted are remembered and converted before the first try
 * from then on. A schema that accepts both at such a path may be given either.
 */
export class SchemaReader<T> {
  private readonly bigintPaths = new Map<string, readonly string[]>();

  constructor(private readonly schema: StandardSchemaV1<unknown, T>) {}

  /**
   * The schema's output for a parsed value, which may be changed.
   * @throws SchemaMismatch; InvalidConfigurationError `SCHEMA_ASYNCHRONOUS`
   */
  read(parsed: unknown): T {
    const root = { value: parsed };
    if (this.bigintPaths.size > 0) for (const path of this.bigintPaths.values()) convertLearned(root, path, 0);
    const first = validate(this.schema, root.value);
    if (first.issues === undefined) return first.value;
    const wanted = first.issues.map((issue) => pathOf(issue)).filter((path) => flip(root, path));
    if (wanted.length === 0) throw new SchemaMismatch(first.issues);
    const second = validate(this.schema, root.value);
    if (second.issues !== undefined) throw new SchemaMismatch(second.issues);
    for (const path of wanted) this.learn(root, path);
    return second.value;
  }

  private learn(root: { readonly value: unknown }, path: Path): void {
    if (this.bigintPaths.size >= learnedPathsMax || typeof valueAt(root.value, path) !== 'bigint') return;
    const steps = ['value'];
    let holder: unknown = root.value;
    for (const step of path) {
      steps.push(Array.isArray(holder) ? anyIndex : String(step));
      holder = (holder as Record<PropertyKey, unknown>)[step];
    }
    this.bigintPaths.set(JSON.stringify(steps), steps);
  }
}

/** @throws SchemaMismatch when the schema refuses the value; InvalidConfigurationError `SCHEMA_ASYNCHRONOUS` */
export function checkBySchema(schema: StandardSchemaV1, value: unknown): void {
  const result = validate(schema, value);
  if (result.issues !== undefined) throw new SchemaMismatch(result.issues);
}

function validate<T>(schema: StandardSchemaV1<unknown, T>, value: unknown): StandardSchemaV1.Result<T> {
  const result = schema['~standard'].validate(value);
  if (!('then' in result)) return result;
  // Its rejection would otherwise end the process.
  result.then(undefined, () => undefined);
  throw new InvalidConfigurationError(
    'SCHEMA_ASYNCHRONOUS',
    `The schema (${schema['~standard'].vendor}) validates asynchronously, but records are decoded without waiting. Take its asynchronous checks out and make them in the handler.`,
  );
}

/** Turns the integer at the path into the other of number and bigint, where nothing is lost. */
function flip(root: { value: unknown }, path: Path): boolean {
  const holder = path.length === 0 ? root : valueAt(root.value, path.slice(0, -1));
  const last = path.length === 0 ? 'value' : path[path.length - 1];
  if (typeof holder !== 'object' || holder === null || last === undefined || !Object.hasOwn(holder, last)) return false;
  const flipped = otherForm((holder as Record<PropertyKey, unknown>)[last]);
  if (flipped === undefined) return false;
  assignOwn(holder as Record<string, unknown>, String(last), flipped);
  return true;
}

function otherForm(value: unknown): bigint | number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (typeof value !== 'bigint') return undefined;
  const number = Number(value);
  return Number.isFinite(number) && BigInt(number) === value ? number : undefined;
}

function convertLearned(holder: unknown, path: readonly string[], depth: number): void {
  if (typeof holder !== 'object' || holder === null) return;
  const step = path[depth];
  if (step === undefined) return;
  if (step === anyIndex && Array.isArray(holder)) {
    for (let index = 0; index < holder.length; index += 1)
      convertMember(holder as unknown as Record<string, unknown>, String(index), path, depth);
    return;
  }
  convertMember(holder as Record<string, unknown>, step, path, depth);
}

function convertMember(holder: Record<string, unknown>, key: string, path: readonly string[], depth: number): void {
  const member = holder[key];
  if (depth < path.length - 1) convertLearned(member, path, depth + 1);
  else if (typeof member === 'number' && Number.isSafeInteger(member)) assignOwn(holder, key, BigInt(member));
}

function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[step];
  }
  return found;
}

function pathOf(issue: StandardSchemaV1.Issue): Path {
  return (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step));
}

function describeIssue(issue: StandardSchemaV1.Issue): string {
  const path = pathOf(issue);
  return path.length === 0 ? issue.message : `${path.map(String).join('.')}: ${issue.message}`;
}
