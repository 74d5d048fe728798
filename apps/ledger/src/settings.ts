import { z } from 'zod';

/** Injection token of the settings. */
export const SETTINGS = Symbol('ledger settings');

const integer = (min: number, max: number, fallback: number) => z.coerce.number().int().min(min).max(max).default(fallback);

const Environment = z.object({
  KAFKA_BROKERS: z.string().min(1).default('localhost:9092'),
  APPLICATION_ID: z.string().min(1).default('ledger'),
  STATE_DIRECTORY: z.string().min(1).default('.tally/ledger'),
  PORT: integer(0, 65_535, 3000),
  GUARANTEE: z.enum(['exactly-once', 'at-least-once', 'at-most-once']).default('exactly-once'),
  COMMIT_INTERVAL_MS: integer(0, 5_000, 100),
  DEDUPLICATION_WINDOW_MS: integer(1_000, 30 * 86_400_000, 3_600_000),
});

export interface Settings {
  readonly brokers: string;
  readonly applicationId: string;
  readonly stateDirectory: string;
  readonly port: number;
  readonly guarantee: 'exactly-once' | 'at-least-once' | 'at-most-once';
  readonly commitIntervalMs: number;
  /** How long an event id is remembered, in milliseconds of stream time. */
  readonly deduplicationWindowMs: number;
}

export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** @throws SettingsError naming every variable that is wrong, and why */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const parsed = Environment.safeParse(environment);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => {
      const variable = issue.path.join('.');
      return `  ${variable}='${environment[variable] ?? ''}': ${issue.message}`;
    });
    throw new SettingsError(`The ledger cannot start with these environment variables:\n${lines.join('\n')}`);
  }
  const values = parsed.data;
  return {
    brokers: values.KAFKA_BROKERS,
    applicationId: values.APPLICATION_ID,
    stateDirectory: values.STATE_DIRECTORY,
    port: values.PORT,
    guarantee: values.GUARANTEE,
    commitIntervalMs: values.COMMIT_INTERVAL_MS,
    deduplicationWindowMs: values.DEDUPLICATION_WINDOW_MS,
  };
}
