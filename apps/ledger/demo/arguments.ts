import { parseArgs } from 'node:util';
import { ArgumentError, wholeNumber, withUsage } from '../load/arguments.js';

export interface DemoArguments {
  readonly payments: number;
  readonly instances: number;
  readonly kills: number;
  readonly seed: number;
  readonly accounts: number;
  readonly ratePerSecond: number;
  /** File for the results, or undefined. */
  readonly json: string | undefined;
  /** Keeps topics, logs and state directories for a look at them. */
  readonly keep: boolean;
}

export const usage = `Counts payments exactly once while instances are killed, and proves it.

  --payments N    payments to send; copies under the same event id come on top (default 200000, at least 10000)
  --instances N   instances of the ledger (default 2)
  --kills N       how often one of them is killed with SIGKILL and started again (default 3)
  --seed N        seed of the payments and of the choice of the victims (default 1)
  --accounts N    accounts that the payments are spread over (default 10000)
  --rate N        records per second (default: by the number of payments)
  --json FILE     writes the results there
  --keep          keeps topics, logs and state directories`;

/** @throws ArgumentError with the usage */
export function parseArguments(args: readonly string[]): DemoArguments | 'help' {
  return withUsage(usage, () => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        payments: { type: 'string' },
        instances: { type: 'string' },
        kills: { type: 'string' },
        seed: { type: 'string' },
        accounts: { type: 'string' },
        rate: { type: 'string' },
        json: { type: 'string' },
        keep: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
    if (values.help === true) return 'help';
    if (values.json === '') throw new ArgumentError('--json needs the name of a file.');
    // Fewer payments would leave too few copies on both sides of a kill to prove anything.
    const payments = wholeNumber('payments', values.payments, 200_000, 10_000, 20_000_000);
    return {
      payments,
      instances: wholeNumber('instances', values.instances, 2, 1, 12),
      kills: wholeNumber('kills', values.kills, 3, 0, 10),
      seed: wholeNumber('seed', values.seed, 1, 0, 4_294_967_295),
      accounts: wholeNumber('accounts', values.accounts, 10_000, 1, 1_000_000),
      // The load has to last long enough for each kill and recovery to fall into its middle.
      ratePerSecond: wholeNumber('rate', values.rate, Math.max(1_000, Math.round(payments / 25)), 100, 1_000_000),
      json: values.json,
      keep: values.keep ?? false,
    };
  });
}
