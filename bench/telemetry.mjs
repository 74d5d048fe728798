// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../scripts/support/report.mjs';
import { expectedSums } from './payments.mjs';
import { writeInput } from './run.mjs';
import { mediansOf, rounded } from './statistics.mjs';
import { grouped, table } from './table.mjs';
import { measureContender } from './throughput.mjs';

/**
 * What telemetry costs: the same service on the same input, in turn without it and with it. With it all metrics go to a receiver on this machine every five
 * seconds, the SDK's default being a minute, and 1% of the traces.
 * @param {import('./run.mjs').Run} run
 */
export async function telemetry(run) {
  const { records, keys, seed, repeat, smoke } = run.options;
  const input = await run.topic('payments');
  say(`Writing ${grouped(records)} payments of ${grouped(keys)} accounts`);
  await writeInput(run, input, records);
  const expected = expectedSums(seed, keys, records);
  const sink = run.program('The receiver', 'otlp-sink.mjs');
  const environments = { off: { OTEL_SDK_DISABLED: 'true' }, on: exportingTo(await portOf(sink)) };

  /** @type {Record<keyof typeof environments, import('./throughput.mjs').Measured[]>} */
  const measured = { off: [], on: [] };
  for (let round = 1; round <= repeat; round++) {
    // In turn first and second, since a machine that is shared grows busier and idler.
    const order = /** @type {const} */ (round % 2 === 1 ? ['off', 'on'] : ['on', 'off']);
    for (const which of order) {
      const figures = await measureContender(run, 'tally', input, expected, environments[which]);
      measured[which].push(figures);
      say(`Telemetry ${which}: sums agree${smoke ? '' : `, ${grouped(figures.recordsPerSecond)} records/s`} (${round} of ${repeat})`);
    }
  }
  await sink.stop();
  assertExported(sink.lines);
  const [off, on] = [mediansOf(measured.off), mediansOf(measured.on)];
  return { text: smoke ? '' : report(off, on), figures: figuresOf(off, on) };
}

/** @param {number} port */
function exportingTo(port) {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_SERVICE_NAME: 'payment-sums',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
    OTEL_METRIC_EXPORT_INTERVAL: '5000',
    OTEL_METRIC_EXPORT_TIMEOUT: '5000',
  };
}

/** @param {import('./service-process.mjs').ServiceProcess} sink */
async function portOf(sink) {
  for (;;) {
    sink.assertAlive();
    const line = sink.lines.find((each) => each.startsWith('port '));
    if (line !== undefined) return Number(line.slice('port '.length));
    await sleep(10);
  }
}

/** Without exports there would be nothing whose cost was measured. @param {readonly string[]} lines of the receiver */
function assertExported(lines) {
  for (const path of ['/v1/traces', '/v1/metrics'])
    if (!lines.some((line) => line.startsWith(`${path} `))) throw new Error(`Nothing was exported to ${path}: ${lines.join(', ')}`);
}

/** @typedef {import('./throughput.mjs').Measured} Measured */

/** @param {Measured} off @param {Measured} on */
function report(off, on) {
  const rows = Object.entries({ off, on }).map(([name, { recordsPerSecond, cpuSecondsPerMillion, peakRssMb }]) => [
    `telemetry ${name}`,
    grouped(recordsPerSecond),
    cpuSecondsPerMillion.toFixed(1),
    grouped(peakRssMb),
  ]);
  return `${table(['', 'records/s', 'CPU s per million', 'peak MB'], rows)}\nwith telemetry: ${(on.recordsPerSecond / off.recordsPerSecond).toFixed(3)} times the throughput`;
}

/** @param {Measured} off @param {Measured} on records/s, and their ratio */
export function figuresOf(off, on) {
  return {
    on: rounded(on.recordsPerSecond, 0),
    off: rounded(off.recordsPerSecond, 0),
    ratio: rounded(on.recordsPerSecond / off.recordsPerSecond, 3),
    cpuSecondsPerMillion: { on: rounded(on.cpuSecondsPerMillion, 2), off: rounded(off.cpuSecondsPerMillion, 2) },
  };
}
