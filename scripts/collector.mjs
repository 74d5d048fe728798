// @ts-check
/**
 * An OpenTelemetry Collector for the tests: one on the search path, or one that is built from its Go modules where Go is installed, once for all clones of a
 * user. TALLY_COLLECTOR=none spares the minutes that this takes.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, which } from './support/command.mjs';
import { PlainError, say, withProgress } from './support/report.mjs';
import { installDirectory, userCache } from './support/user-cache.mjs';

const version = '0.161.0';
const core = 'go.opentelemetry.io/collector';
/** What deploy/collector.yaml and the tests use; all of it is in the official distribution. */
const components = {
  receivers: [`${core}/receiver/otlpreceiver`],
  processors: [`${core}/processor/batchprocessor`, `${core}/processor/memorylimiterprocessor`],
  exporters: [`${core}/exporter/debugexporter`, `${core}/exporter/otlpexporter`, `${core}/exporter/otlphttpexporter`],
};

const kept = () => join(userCache(), `collector-${version}`);

/** @returns {string | undefined} path of a Collector that is there already */
export function findCollector() {
  if (process.env['TALLY_COLLECTOR'] === 'none') return undefined;
  for (const name of ['otelcol', 'otelcol-contrib']) {
    const found = which(name);
    if (found !== undefined) return found;
  }
  const own = join(kept(), 'otelcol');
  return existsSync(own) ? own : undefined;
}

/** Why the tests with a Collector are left out, for their names. */
export const withoutCollector = 'no otelcol on the search path, and no Go to build it with, or TALLY_COLLECTOR=none';

/** Brings a Collector where none is there and Go is; says why not where it cannot. */
export async function provideCollector() {
  if (findCollector() !== undefined) return;
  try {
    await buildCollector();
  } catch (error) {
    say(`Tests with a real Collector are left out: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function buildCollector() {
  if (process.env['TALLY_COLLECTOR'] === 'none') throw new PlainError('TALLY_COLLECTOR is none.');
  if (which('go') === undefined) throw new PlainError('it is built from its Go modules, and there is no `go` on the search path.');
  await withProgress(`Building the OpenTelemetry Collector ${version} from its Go modules, which takes some minutes`, () =>
    installDirectory(kept(), build),
  );
}

/** @param {string} directory */
async function build(directory) {
  const workplace = mkdtempSync(join(tmpdir(), 'tally-collector-'));
  try {
    const modules = Object.entries(components).map(([kind, names]) => [kind, names.map((name) => ({ gomod: `${name} v${version}` }))]);
    const manifest = { dist: { name: 'otelcol', output_path: join(workplace, 'built'), version }, ...Object.fromEntries(modules) };
    mkdirSync(join(workplace, 'built'));
    // JSON is YAML.
    writeFileSync(join(workplace, 'builder.yaml'), JSON.stringify(manifest));
    const { code, output } = await run('go', ['run', `${core}/cmd/builder@v${version}`, '--config', join(workplace, 'builder.yaml')], {
      cwd: workplace,
      timeoutMs: 30 * 60_000,
    });
    if (code !== 0) throw new Error(`The Collector was not built:\n${output.slice(-2_000)}`);
    cpSync(join(workplace, 'built', 'otelcol'), join(directory, 'otelcol'));
  } finally {
    rmSync(workplace, { recursive: true, force: true });
  }
}
