import { Controller, UseGuards } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { Store, type StreamContext, StreamHandler } from '@tally/nestjs';
import type { KeyValueStore } from '@tally/streams';
import { LedgerService } from './ledger.service.js';
import { balances, balanceUpdates, payments, postings, rejections, seenEvents } from './ledger.topics.js';
import { OwnAccountGuard } from './own-account.guard.js';
import type { Payment } from './payment.js';
import { SeenEvents } from './seen-events.js';

/** Takes payments in. What a call writes and sends is committed together with its payment's offset, or not at all. */
@Controller()
export class PaymentsController {
  constructor(
    private readonly ledger: LedgerService,
    private readonly seen: SeenEvents,
  ) {}

  @UseGuards(OwnAccountGuard)
  @StreamHandler(payments, { stores: [balances, seenEvents] })
  apply(
    @Payload() payment: Payment,
    @Ctx() context: StreamContext<string>,
    @Store(balances) balanceStore: KeyValueStore<string, bigint>,
    @Store(seenEvents) seenStore: KeyValueStore<string, bigint>,
  ): void {
    const { account } = payment;
    if (!this.seen.remember(seenStore, payment, context.streamTimeMs)) return;
    const outcome = this.ledger.decide(payment, balanceStore.get(account) ?? 0n);
    if (outcome.kind === 'rejected') {
      context.send(rejections, account, outcome.rejection);
      return;
    }
    balanceStore.put(account, outcome.balance);
    context.send(balanceUpdates, account, outcome.balance);
    for (const posting of outcome.postings) context.send(postings, posting.account, posting);
  }
}
