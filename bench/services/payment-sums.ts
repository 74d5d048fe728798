/** What both services of the benchmark work on, declared as any application declares it. */
import { int64, json, keyValueStore, nullable, string, topic } from '@tally/streams';
import { serviceArguments } from '../service-arguments.mjs';
import { Payment } from './payment.js';

export const settings = serviceArguments(process.argv.slice(2));

export const payments = topic(settings.input, { key: string(), value: json(Payment) });
export const balanceUpdates = topic(settings.output, { key: string(), value: nullable(int64()) });
export const balances = keyValueStore('balances', { key: string(), value: int64() });
