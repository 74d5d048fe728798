/** A real Prometheus that scrapes services under test every half second. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.js';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

export class PrometheusProcess {
  private output = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    private readonly url: string,
  ) {
    child.stderr?.on('data', (chunk: Buffer) => void (this.output += chunk.toString()));
  }

  /** @param rules text of a rule file */
  static async start(program: string, targets: readonly string[], rules: string): Promise<PrometheusProcess> {
    const directory = mkdtempSync(join(tmpdir(), 'tally-prometheus-'));
    const configuration = {
      global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
      rule_files: ['rules.yml'],
      scrape_configs: [{ job_name: 'tally', static_configs: [{ targets }] }],
    };
    // JSON is YAML.
    writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(configuration));
    writeFileSync(join(directory, 'rules.yml'), rules);
    const address = `127.0.0.1:${await freePort()}`;
    const args = [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=${address}`,
    ];
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    return new PrometheusProcess(child, directory, `http://${address}`);
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.exitCode === null && this.child.kill('SIGTERM')) await ended;
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Answer to an instant query. @throws when Prometheus refuses it */
  async query(expression: string): Promise<readonly Sample[]> {
    const { result } = await this.ask<{ result: readonly { metric: Record<string, string>; value: readonly [number, string] }[] }>(
      `/api/v1/query?query=${encodeURIComponent(expression)}`,
    );
    return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }

  /** Asks again until the answer is as wanted. @throws with the last answer when it does not become so */
  async until(expression: string, wanted: (samples: readonly Sample[]) => boolean, timeoutMs = 90_000): Promise<readonly Sample[]> {
    let last: unknown;
    for (const until = Date.now() + timeoutMs; Date.now() < until; await sleep(200)) {
      try {
        const samples = await this.query(expression);
        last = samples;
        if (wanted(samples)) return samples;
      } catch (error) {
        last = error;
      }
    }
    throw new Error(
      `Prometheus did not answer ${expression} as expected, but: ${last instanceof Error ? last.message : JSON.stringify(last)}\n${this.output}`,
    );
  }

  async alerts(): Promise<readonly Alert[]> {
    return (await this.ask<{ alerts: readonly Alert[] }>('/api/v1/alerts')).alerts;
  }

  private async ask<Data>(path: string): Promise<Data> {
    const response = await fetch(`${this.url}${path}`, { signal: AbortSignal.timeout(5_000) });
    const answer = (await response.json()) as { status: string; error?: string; data: Data };
    if (answer.status !== 'success') throw new Error(answer.error);
    return answer.data;
  }
}
