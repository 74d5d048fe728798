import { type CanActivate, type ExecutionContext, ForbiddenException, Injectable } from '@nestjs/common';
import type { StreamContext } from '@tally/nestjs';
import type { Payment } from './payment.js';

/** Lets a payment pass only under its own account's key: else one account's balance would be changed by several tasks. */
@Injectable()
export class OwnAccountGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const rpc = context.switchToRpc();
    const { account } = rpc.getData<Payment>();
    const { key } = rpc.getContext<StreamContext<string>>();
    if (account !== key) throw new ForbiddenException(`The payment is for account '${account}', but lies under the key '${key}'.`);
    return true;
  }
}
