/** What of OpenTelemetry's environment variables is read here, and what they are where they are not set. */

type Environment = Readonly<Record<string, string | undefined>>;

const commonEndpoint = 'OTEL_EXPORTER_OTLP_ENDPOINT';
/** Of each signal, the variables that name its exporter and its own endpoint. */
const signals = ['TRACES', 'METRICS', 'LOGS'].map((signal) => ({
  exporter: `OTEL_${signal}_EXPORTER`,
  endpoint: `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`,
}));

const isSet = (environment: Environment, name: string): boolean => (environment[name] ?? '').trim() !== '';

/** Whether any of the variables says where telemetry goes. Without one nothing is loaded. */
export function isConfigured(environment: Environment): boolean {
  if ((environment['OTEL_SDK_DISABLED'] ?? '').trim().toLowerCase() === 'true') return false;
  return [commonEndpoint, ...signals.flatMap(({ exporter, endpoint }) => [exporter, endpoint])].some((name) => isSet(environment, name));
}

/** A signal whose exporter is not named goes to the OTLP endpoint where there is one, and nowhere else: the SDK would try localhost. */
export function withDefaults(environment: Environment): Readonly<Record<string, string>> {
  const defaults: Record<string, string> = {};
  for (const { exporter, endpoint } of signals) {
    const hasEndpoint = isSet(environment, commonEndpoint) || isSet(environment, endpoint);
    if (!isSet(environment, exporter)) defaults[exporter] = hasEndpoint ? 'otlp' : 'none';
  }
  if (!isSet(environment, 'OTEL_SERVICE_NAME') && !(environment['OTEL_RESOURCE_ATTRIBUTES'] ?? '').includes('service.name='))
    defaults['OTEL_SERVICE_NAME'] = 'tally';
  return defaults;
}

const refreshMsMax = 5_000;
const refreshMsMin = 100;

/** How often it is asked where partitions end: as often as metrics are exported, within bounds. */
export function refreshIntervalMs(environment: Environment): number {
  const exported = Number(environment['OTEL_METRIC_EXPORT_INTERVAL'] ?? Number.NaN);
  return Number.isFinite(exported) ? Math.min(refreshMsMax, Math.max(refreshMsMin, exported)) : refreshMsMax;
}

const defaultRatio = 0.01;

/** Share of root traces that is kept. */
export function traceRatio(environment: Environment): number {
  if (environment['OTEL_TRACES_EXPORTER'] === 'none') return 0;
  const sampler = environment['OTEL_TRACES_SAMPLER'] ?? '';
  if (sampler.endsWith('always_on')) return 1;
  if (sampler.endsWith('always_off')) return 0;
  const text = environment['OTEL_TRACES_SAMPLER_ARG'] ?? '';
  const ratio = Number(text);
  return text.trim() !== '' && ratio >= 0 && ratio <= 1 ? ratio : defaultRatio;
}
