/** A real OpenTelemetry Collector between services and the receiver of a test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { until } from './observed.js';

export class CollectorProcess {
  private output = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    /** Takes OTLP over HTTP. */
    readonly endpoint: string,
  ) {
    child.stderr?.on('data', (chunk: Buffer) => void (this.output += chunk.toString()));
  }

  /** @param receiver endpoint that gets all that the Collector gets */
  static async start(program: string, receiver: string): Promise<CollectorProcess> {
    const directory = mkdtempSync(join(tmpdir(), 'tally-collector-'));
    const address = `127.0.0.1:${await freePort()}`;
    const pipeline = { receivers: ['otlp'], processors: ['batch'], exporters: ['otlphttp'] };
    const configuration = {
      receivers: { otlp: { protocols: { http: { endpoint: address } } } },
      processors: { batch: { timeout: '100ms' } },
      exporters: { otlphttp: { endpoint: receiver } },
      service: { telemetry: { metrics: { level: 'none' } }, pipelines: { traces: pipeline, metrics: pipeline, logs: pipeline } },
    };
    // JSON is YAML.
    writeFileSync(join(directory, 'config.yaml'), JSON.stringify(configuration));
    const child = spawn(program, ['--config', join(directory, 'config.yaml')], { stdio: ['ignore', 'ignore', 'pipe'] });
    const collector = new CollectorProcess(child, directory, `http://${address}`);
    await until(
      'the Collector listens',
      () =>
        fetch(collector.endpoint).then(
          () => true,
          () => undefined,
        ),
      () => collector.output,
    );
    return collector;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.exitCode === null && this.child.kill('SIGTERM')) await ended;
    rmSync(this.directory, { recursive: true, force: true });
  }
}
