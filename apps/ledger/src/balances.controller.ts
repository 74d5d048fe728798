import { Readable } from 'node:stream';
import { Controller, Get, NotFoundException, Param, StreamableFile, UseFilters } from '@nestjs/common';
import { InjectStore } from '@tally/nestjs';
import type { QueryableStore } from '@tally/streams';
import { balances } from './ledger.topics.js';
import { QueryErrorFilter } from './query-error.filter.js';

/** In minor units, as a decimal string: JSON numbers are not exact beyond 2^53. */
interface BalanceView {
  readonly account: string;
  readonly balance: string;
}

/** Answers for the accounts whose partitions this instance owns, from committed state. */
@Controller('balances')
@UseFilters(QueryErrorFilter)
export class BalancesController {
  constructor(@InjectStore(balances) private readonly store: QueryableStore<string, bigint>) {}

  /** All accounts of this instance, one JSON object a line. */
  @Get()
  list(): StreamableFile {
    // Asked before the first line: an instance that cannot answer says so by the status.
    this.store.partitions();
    return new StreamableFile(Readable.from(this.lines()), { type: 'application/x-ndjson' });
  }

  @Get(':account')
  async one(@Param('account') account: string): Promise<BalanceView> {
    const balance = await this.store.get(account);
    if (balance === undefined) throw new NotFoundException(`There is no account '${account}'.`);
    return view(account, balance);
  }

  private async *lines(): AsyncGenerator<string> {
    for await (const [account, balance] of this.store.all()) yield `${JSON.stringify(view(account, balance))}\n`;
  }
}

function view(account: string, balance: bigint): BalanceView {
  return { account, balance: balance.toString() };
}
