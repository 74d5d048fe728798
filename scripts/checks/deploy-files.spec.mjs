// @ts-check
/** Every file under deploy/, the Dockerfile and docker-compose.yml, before the validators that their owners have. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import ts from 'typescript';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { findCollector, withoutCollector } from '../collector.mjs';
import { findPrometheus, withoutPrometheus } from '../prometheus.mjs';
import { root } from '../support/paths.mjs';

const require = createRequire(import.meta.url);
/** @param {string} file */
const read = (file) => readFileSync(join(root, file), 'utf8');

/** @param {unknown} value @param {(member: string, content: unknown) => void} visit of all objects in it */
function walk(value, visit) {
  if (typeof value !== 'object' || value === null) return;
  for (const [member, content] of Object.entries(value)) {
    visit(member, content);
    walk(content, visit);
  }
}

describe('docker-compose.yml', () => {
  /** @type {{ services: Record<string, { build?: string, image?: string, volumes?: string[], depends_on?: object }> }} */
  const compose = parse(read('docker-compose.yml'));
  // The name that it has for its own language is not the one that validators know.
  const { $schema: _language, ...specification } = JSON.parse(
    readFileSync(join(dirname(require.resolve('dclint')), '../schemas/compose.schema.json'), 'utf8'),
  );
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(specification);

  it('follows the compose specification', () => {
    expect(validate(compose), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ services: { kafka: { imagine: 'x' } } })).toBe(false);
  });

  it('has the whole of it, with versions, and mounts what exists', () => {
    expect(Object.keys(compose.services)).toEqual(
      expect.arrayContaining(['kafka', 'ledger', 'load', 'collector', 'prometheus', 'grafana', 'jaeger']),
    );
    for (const [name, { image = '', volumes = [] }] of Object.entries(compose.services)) {
      if (image !== 'tally-ledger') expect(image, name).toMatch(/:v?\d+(\.\d+)+$/);
      for (const volume of volumes.filter((each) => each.startsWith('./'))) {
        const [source = ''] = volume.split(':');
        expect(() => readdirSync(join(root, source)).length > 0 || true, volume).not.toThrow(/ENOENT/);
      }
    }
  });
});

describe('the manifests of deploy/kubernetes', () => {
  const documents = readdirSync(join(root, 'deploy/kubernetes')).flatMap((file) =>
    parseAllDocuments(read(`deploy/kubernetes/${file}`), { merge: true }).map((document) => ({ file, manifest: document.toJS() })),
  );

  /** @param {{ apiVersion: string, kind: string }} manifest */
  function modelOf({ apiVersion, kind }) {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    return require(`kubernetes-models/${group === '' ? version : `${group}/${version}`}/${kind}`)[kind];
  }

  it.each(documents)('$manifest.kind $manifest.metadata.name follows its schema', ({ manifest }) => {
    const Model = modelOf(manifest);
    expect(() => new Model(manifest).validate()).not.toThrow();
  });

  it('are really validated', () => {
    const { manifest } = documents.find(({ manifest: { kind } }) => kind === 'StatefulSet') ?? expect.fail('There is no StatefulSet.');
    const Model = modelOf(manifest);
    const wrong = { ...manifest, spec: { ...manifest.spec, replicas: 'two' } };
    expect(() => new Model(wrong).validate()).toThrow(/replicas/);
  });

  it('know about restoring: the probes ask for what the ledger serves', () => {
    const paths = new Set();
    walk(documents, (member, content) => member === 'path' && paths.add(content));
    const controller = read('apps/ledger/src/health.controller.ts');
    expect([...paths].toSorted()).toEqual(['/health/live', '/health/ready', '/health/startup']);
    for (const path of paths) expect(controller).toContain(`@Get('${path.replace('/health/', '')}')`);
  });
});

const prometheus = findPrometheus();

describe.skipIf(prometheus === undefined)(`promtool${prometheus === undefined ? ` (${withoutPrometheus})` : ''}`, () => {
  /** @param {...string} args */
  const promtool = (...args) =>
    execFileSync(prometheus?.promtool ?? '', args, { cwd: join(root, 'deploy/prometheus'), encoding: 'utf8', stdio: 'pipe' });

  it('accepts the configuration and the rules, and the rules do what their tests say', () => {
    expect(promtool('check', 'config', 'prometheus.yml')).toContain('SUCCESS');
    expect(promtool('check', 'rules', 'alerts.yml')).toMatch(/SUCCESS: \d+ rules/);
    expect(promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
  });
});

const collector = findCollector();

describe('the configuration of the Collector', () => {
  /** @typedef {Record<string, unknown>} Components */
  /** @type {{ receivers: Components, processors: Components, exporters: Components, service: { pipelines: Record<string, Record<'receivers' | 'processors' | 'exporters', string[]>> } }} */
  const configuration = parse(read('deploy/collector.yaml'));

  it('uses what it defines', () => {
    for (const pipeline of Object.values(configuration.service.pipelines))
      for (const kind of /** @type {const} */ (['receivers', 'processors', 'exporters']))
        expect(Object.keys(configuration[kind])).toEqual(expect.arrayContaining(pipeline[kind]));
  });

  it.skipIf(collector === undefined)(`is accepted by a real one${collector === undefined ? ` (${withoutCollector})` : ''}`, () => {
    const validate = (/** @type {string} */ file) =>
      execFileSync(collector ?? '', ['validate', '--config', file], { encoding: 'utf8', stdio: 'pipe' });
    expect(() => validate(join(root, 'deploy/collector.yaml'))).not.toThrow();
    expect(() => validate(join(root, 'deploy/prometheus/prometheus.yml'))).toThrow(/scrape_configs/);
  });
});

describe('the dashboards', () => {
  const folder = join(root, 'deploy/grafana/dashboards');
  const dashboards = readdirSync(folder).map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }));
  // Within the clone, so that the types are found.
  const directory = mkdtempSync(join(root, 'node_modules', '.dashboards-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** @param {string} name @param {string} json */
  function faultsOf(name, json) {
    const source = join(directory, `${name}.ts`);
    writeFileSync(source, `import type { Dashboard } from '@grafana/schema';\nexport const dashboard: Dashboard = ${json};\n`);
    const program = ts.createProgram([source], {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
    });
    const sourceFile = program.getSourceFile(source);
    return program.getSemanticDiagnostics(sourceFile).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  }

  it.each(dashboards)("$file has the types of Grafana's own schema", ({ file, text }) => {
    expect(faultsOf(file, text)).toEqual([]);
  });

  it('are really checked', () => {
    expect(faultsOf('wrong', '{ schemaVersion: 41, panels: [{ type: 7 }], refresh: [] }')).not.toEqual([]);
  });

  it('ask for metrics that there are', () => {
    const table = [...read('docs/observability.md').matchAll(/^\| `([a-z][\w.]+)` \| (\w+) \|/gm)].map(([, name = '', kind]) => {
      const plain = name.replaceAll('.', '_');
      return kind === 'counter' ? `${plain}_total` : kind === 'histogram' ? `${plain}_bucket` : plain;
    });
    const known = new Set(table);
    const texts = [...dashboards.map(({ text }) => text), read('deploy/prometheus/alerts.yml')];
    const used = new Set(
      texts.flatMap((text) => [...text.matchAll(/\b(?:tally|messaging|nodejs)_\w+(?=[{[)\s"]|\\n)/g)].map(([name]) => name)),
    );
    const metrics = [...used].filter(
      (name) => !/^(messaging_(consumer|destination|operation)|tally_(outcome|reason|state|task|store|sub_topology|direction)$)/.test(name),
    );
    expect(metrics.length).toBeGreaterThan(15);
    expect(metrics.filter((name) => !known.has(name))).toEqual([]);
  });

  it('are provisioned, with their data sources', () => {
    const sources = parse(read('deploy/grafana/provisioning/datasources/datasources.yaml'));
    const known = new Set(sources.datasources.map((/** @type {{ uid: string }} */ { uid }) => uid));
    for (const { text } of dashboards)
      walk(JSON.parse(text), (member, content) => {
        if (member === 'datasource') expect(known).toContain(/** @type {{ uid: string }} */ (content).uid);
      });
  });
});

describe('the Dockerfile', () => {
  it('builds by the script that the tests run, and runs without privileges', () => {
    const text = read('Dockerfile');
    expect(text).toMatch(/^RUN deploy\/build\.sh \/opt\/tally$/m);
    for (const instruction of ['USER node', 'STOPSIGNAL SIGTERM', 'VOLUME /var/lib/tally', 'HEALTHCHECK '])
      expect(text).toContain(`\n${instruction}`);
  });
});
