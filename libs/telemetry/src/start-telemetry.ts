/**
 * OpenTelemetry's SDK as its own environment variables configure it, with what Tally adds: a sampler that keeps what was drawn, HTTP spans,
 * instrumented workers, and a last export before the process ends. Nothing of it may stop or slow the service: what is wrong with the configuration is
 * said once, and exports happen in the background and are bounded.
 */
import { randomUUID } from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { NodeSDK, resources } from '@opentelemetry/sdk-node';
import { exportBeforeExit } from './exit.js';
import { tallySampler } from './sampling.js';
import { refreshIntervalMs, traceRatio, withDefaults } from './settings.js';
import { instrumentTally } from './worker-telemetry.js';

/** Requests of whoever watches the service. */
const unwatched = /^\/(metrics|health)(\/|$)/;

/** @returns what ends it: exports what is left, within a few seconds */
export function startTelemetry(environment: NodeJS.ProcessEnv = process.env): () => Promise<void> {
  Object.assign(environment, withDefaults(environment));
  const ratio = traceRatio(environment);
  const sdk = new NodeSDK({
    resource: resources.defaultResource().merge(resourceFromAttributes({ 'service.instance.id': randomUUID() })),
    sampler: tallySampler(ratio),
    instrumentations: [new HttpInstrumentation({ ignoreIncomingRequestHook: ({ url = '' }) => unwatched.test(url) })],
  });
  sdk.start();
  patchHttp();
  const end = instrumentTally({ traceRatio: ratio, refreshIntervalMs: refreshIntervalMs(environment) });
  return exportBeforeExit(async () => {
    end();
    await sdk.shutdown();
  });
}

/** The instrumentation replaces functions when a module is required; ES modules see that only when they are told, and require nothing. */
function patchHttp(): void {
  const require = createRequire(import.meta.url);
  require('http');
  require('https');
  syncBuiltinESMExports();
}
