import { int64, json, keyValueStore, string, topic } from '@tally/streams';
import { Payment, type Posting, type Rejection } from './payment.js';

/** Several ledgers can share a cluster: each with a prefix of its own. */
const prefix = process.env['TOPIC_PREFIX'] ?? '';

export const payments = topic(`${prefix}payments`, { key: string(), value: json(Payment) });

/** Two for each accepted payment, each under its own account. */
export const postings = topic(`${prefix}postings`, { key: string(), value: json<Posting>() });
/** Each new balance, in minor units. */
export const balanceUpdates = topic(`${prefix}balances`, { key: string(), value: int64() });
export const rejections = topic(`${prefix}payments-rejected`, { key: string(), value: json<Rejection>() });
/** Takes the original bytes of what is no payment; headers say where it was and what is wrong with it. */
export const malformedPayments = `${prefix}payments-malformed`;

/** Balance by account, in minor units. */
export const balances = keyValueStore('balances', { key: string(), value: int64() });
/** When an event id was seen, in milliseconds of stream time. Keys are made by `SeenEvents`. */
export const seenEvents = keyValueStore('seen-events', { key: string(), value: int64() });
