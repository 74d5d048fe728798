import { RecordRefusedError } from '../../core/errors.js';

/** @throws RecordRefusedError `STORE_TIMESTAMP_INVALID` */
export function checkTime(store: string, timeMs: number): void {
  if (Number.isSafeInteger(timeMs)) return;
  throw new RecordRefusedError('STORE_TIMESTAMP_INVALID', `Store ${store}: ${timeMs} is no time: use whole milliseconds since the epoch.`, {
    store,
  });
}
