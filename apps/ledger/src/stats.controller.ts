import { Controller, Get } from '@nestjs/common';
import { InjectStore, StreamsHealthIndicator, StreamsWorkerRef } from '@tally/nestjs';
import type { QueryableStore, WorkerCounters } from '@tally/streams';
import { balances } from './ledger.topics.js';

interface Stats {
  readonly ready: boolean;
  /** Partitions whose balances this instance answers for. */
  readonly partitions: readonly number[];
  /** Since the start of the process; absent before the worker runs. */
  readonly counters: WorkerCounters | undefined;
}

@Controller('stats')
export class StatsController {
  constructor(
    private readonly worker: StreamsWorkerRef,
    private readonly health: StreamsHealthIndicator,
    @InjectStore(balances) private readonly store: QueryableStore<string, bigint>,
  ) {}

  @Get()
  stats(): Stats {
    const ready = this.health.isReady('streams').streams.status === 'up';
    return { ready, partitions: ready ? this.store.partitions() : [], counters: this.worker.health()?.counters };
  }
}
