import { describe, expect, it } from 'vitest';
import { readSettings, SettingsError } from './settings.js';

describe('readSettings', () => {
  it('has a default for everything', () => {
    expect(readSettings({})).toEqual({
      brokers: 'localhost:9092',
      applicationId: 'ledger',
      stateDirectory: '.tally/ledger',
      port: 3000,
      guarantee: 'exactly-once',
      commitIntervalMs: 100,
      deduplicationWindowMs: 3_600_000,
    });
  });

  it('reads every variable', () => {
    const environment = {
      KAFKA_BROKERS: 'a:1,b:2',
      APPLICATION_ID: 'books',
      STATE_DIRECTORY: '/var/lib/books',
      PORT: '0',
      GUARANTEE: 'at-least-once',
      COMMIT_INTERVAL_MS: '20',
      DEDUPLICATION_WINDOW_MS: '60000',
    };
    expect(readSettings(environment)).toEqual({
      brokers: 'a:1,b:2',
      applicationId: 'books',
      stateDirectory: '/var/lib/books',
      port: 0,
      guarantee: 'at-least-once',
      commitIntervalMs: 20,
      deduplicationWindowMs: 60_000,
    });
  });

  it('names every variable that is wrong, with its value', () => {
    const read = (): unknown => readSettings({ PORT: 'http', GUARANTEE: 'twice', COMMIT_INTERVAL_MS: '-1', KAFKA_BROKERS: '' });
    expect(read).toThrow(SettingsError);
    for (const part of ["PORT='http'", "GUARANTEE='twice'", "COMMIT_INTERVAL_MS='-1'", "KAFKA_BROKERS=''", 'exactly-once']) {
      expect(read).toThrow(part);
    }
  });
});
