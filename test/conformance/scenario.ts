/** A scenario and what came of it, as the oracle's README describes both. */

export interface Scenario {
  readonly name: string;
  readonly note?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly allStores?: boolean;
  readonly startWallClockMs?: number;
  readonly topology: readonly Operator[];
  readonly events: readonly ScenarioEvent[];
}

/** One operator; which fields it has depends on `op`. */
export interface Operator {
  readonly id?: string;
  readonly op: string;
  readonly from?: string | readonly string[];
  readonly [field: string]: unknown;
}

export type ScenarioEvent = RecordEvent | { readonly advanceWallClockMs: number };

export interface RecordEvent {
  readonly topic: string;
  readonly key: Scalar;
  readonly value: Scalar;
  readonly ts?: number;
  readonly headers?: readonly (readonly [name: string, value: string | null])[];
}

/** As JSON shows it: longs are numbers, windowed keys text. */
export type Scalar = string | number | null;

export interface Result {
  readonly name: string;
  readonly outputs: readonly ResultRecord[];
  readonly observed?: readonly Observation[];
  readonly stores: Readonly<Record<string, readonly StoreRow[]>>;
  readonly dropped: number;
  readonly error?: string;
  readonly errorEvent?: number;
}

export interface ResultRecord {
  readonly event: number;
  readonly topic: string;
  readonly key: Scalar;
  readonly value: Scalar;
  readonly timestamp: number;
  readonly headers?: readonly (readonly [name: string, value: string | null])[];
}

/** A call of `peek` or `foreach`. */
export interface Observation {
  readonly event?: number;
  readonly id: string;
  readonly key: Scalar;
  readonly value: Scalar;
}

export interface StoreRow {
  readonly key: Scalar;
  readonly value: Scalar;
  readonly timestamp?: number;
  readonly validTo?: number;
}

/** A field that is text; undefined where it is missing or null. */
export function textField(operator: Operator, field: string): string | undefined {
  const value = operator[field];
  return value === undefined || value === null ? undefined : String(value);
}

export function requiredText(operator: Operator, field: string): string {
  const value = textField(operator, field);
  if (value === undefined) throw new Error(`Operator ${operator.id ?? operator.op} has no field "${field}".`);
  return value;
}

export function numberField(operator: Operator, field: string): number | undefined {
  const value = operator[field];
  return typeof value === 'number' ? value : undefined;
}
