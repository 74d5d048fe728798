import { describe, expect, it } from 'vitest';
import { silentLogger } from '@tally/streams';
import { ClientLog } from './client-log.js';
import { consumeVerdict } from './consume-errors.js';

function heard(): { log: ClientLog; warnings: string[] } {
  const warnings: string[] = [];
  return { log: new ClientLog({ ...silentLogger, warn: (message) => void warnings.push(message) }, 'consumer'), warnings };
}

describe("the client's log", () => {
  it('keeps the text of errors, which have no number', () => {
    const { log, warnings } = heard();
    log.error(new Error('broker transport failure'));
    log.error(new Error('broker transport failure'));
    expect(log.lastError).toBe('broker transport failure');
    expect(warnings).toEqual(['consumer: broker transport failure']);
  });

  it('waits for the reason of a fatal error, which may come behind the error', async () => {
    const { log } = heard();
    const known = log.fatalReasonHeard().then(() => log.fatalReason);
    log.line({ severity: 0, fac: 'FATAL', message: 'the reason' });
    expect(await known).toBe('the reason');
    await log.fatalReasonHeard();
  });

  it('keeps the reason of a fatal error, whose number is always the same', () => {
    const { log } = heard();
    log.line({ severity: 0, fac: 'FATAL', message: 'Fatal error: Broker: API version not supported: ConsumerGroupHeartbeat fatal error' });
    const verdict = consumeVerdict(
      { code: -150, message: 'Local: Fatal error' },
      { name: 'consumer', fatalReason: log.fatalReason, lastError: log.lastError },
    );
    expect(verdict).toMatchObject({ report: true, error: { code: 'UNSUPPORTED_BROKER', kind: 'invalid' } });
    expect(verdict.error.message).toContain('API version not supported');
  });

  it.each([
    [-147, false],
    [-140, false],
    [-195, false],
    [-185, false],
    [3, false],
    [29, true],
    [30, true],
    [35, true],
    [112, true],
    [-150, true],
    [-199, true],
  ])('tells what a consume has to report of error %i: %s', (code, report) => {
    expect(consumeVerdict({ code, message: 'x' }, { name: 'consumer', fatalReason: undefined, lastError: undefined }).report).toBe(report);
  });
});
