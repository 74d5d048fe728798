/** The delay of the event loop: what blocks it blocks the worker. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Meter } from '@opentelemetry/api';
import { processMetrics } from './metrics.js';

const resolutionMs = 20;
const nanosecondsPerSecond = 1e9;

type Quantity = keyof typeof processMetrics;

export class ProcessMetrics {
  private readonly delay = monitorEventLoopDelay({ resolution: resolutionMs });
  /** Of the time between the last two calls of `refresh`, in seconds: several exporters may read it. */
  private last: Readonly<Record<Quantity, number>> | undefined;

  constructor(meter: Meter) {
    this.delay.enable();
    const gauges = Object.entries(processMetrics).map(
      ([quantity, { name, unit, description }]) =>
        [quantity as Quantity, meter.createObservableGauge(name, { unit, description })] as const,
    );
    meter.addBatchObservableCallback(
      (result) => {
        const { last } = this;
        if (last !== undefined) for (const [quantity, gauge] of gauges) result.observe(gauge, last[quantity]);
      },
      gauges.map(([, gauge]) => gauge),
    );
  }

  refresh(): void {
    const { delay } = this;
    if (delay.count === 0) return;
    // What is measured is the time between two looks, of which the resolution is wanted.
    const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / nanosecondsPerSecond - resolutionMs / 1_000);
    this.last = {
      delayMean: seconds(delay.mean),
      delayP50: seconds(delay.percentile(50)),
      delayP99: seconds(delay.percentile(99)),
      delayMax: seconds(delay.max),
    };
    delay.reset();
  }

  stop(): void {
    this.delay.disable();
  }
}
