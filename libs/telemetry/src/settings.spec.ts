import { describe, expect, it } from 'vitest';
import { isConfigured, traceRatio, withDefaults } from './settings.js';

describe('telemetry', () => {
  it('is off until a variable says where to', () => {
    expect(isConfigured({})).toBe(false);
    expect(isConfigured({ OTEL_SERVICE_NAME: 'ledger', OTEL_EXPORTER_OTLP_ENDPOINT: ' ' })).toBe(false);
    for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_METRICS_EXPORTER'])
      expect(isConfigured({ [name]: 'x' })).toBe(true);
    expect(isConfigured({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'TRUE' })).toBe(false);
  });

  it('sends a signal nowhere that was not asked for', () => {
    expect(withDefaults({ OTEL_METRICS_EXPORTER: 'prometheus', OTEL_SERVICE_NAME: 'ledger' })).toEqual({
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
    });
    expect(withDefaults({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://tempo:4318/v1/traces' })).toEqual({
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_SERVICE_NAME: 'tally',
    });
    expect(withDefaults({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_RESOURCE_ATTRIBUTES: 'service.name=a' })).toEqual({
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'otlp',
    });
  });

  it('keeps as many traces as the sampler says, and 1% where it says nothing that can be read', () => {
    expect(traceRatio({})).toBe(0.01);
    expect(traceRatio({ OTEL_TRACES_SAMPLER_ARG: '0.5' })).toBe(0.5);
    for (const wrong of ['', 'many', '-1', '2']) expect(traceRatio({ OTEL_TRACES_SAMPLER_ARG: wrong })).toBe(0.01);
    expect(traceRatio({ OTEL_TRACES_SAMPLER: 'parentbased_always_on' })).toBe(1);
    expect(traceRatio({ OTEL_TRACES_SAMPLER: 'always_off', OTEL_TRACES_SAMPLER_ARG: '1' })).toBe(0);
    expect(traceRatio({ OTEL_TRACES_EXPORTER: 'none', OTEL_TRACES_SAMPLER_ARG: '1' })).toBe(0);
  });
});
