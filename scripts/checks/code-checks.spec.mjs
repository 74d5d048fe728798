// @ts-check
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../support/command.mjs';
import { root, tool } from '../support/paths.mjs';
import { findNondeterminism, nondeterminismIn } from './determinism.mjs';
import { findPublishedAny } from './published-any.mjs';
import { checkTypeTests, typeTestFiles } from './type-tests.mjs';

let clone = '';
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'tally-checks-'));
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

/** @param {Record<string, string>} files */
function write(files) {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    writeFileSync(join(clone, file), text);
  }
}

describe('the check of the published declarations', () => {
  it('finds any, and types that cannot be resolved', () => {
    write({
      'libs/a/src/index.ts': '',
      'libs/a/dist/index.d.ts':
        'export declare function f(x: any): string;\nexport type { Missing } from "no-such-package";\nexport declare const many: string; // any\n',
    });
    const { faults } = findPublishedAny(clone);
    expect(faults).toHaveLength(2);
    expect(faults[0]).toBe('libs/a/dist/index.d.ts:1: any in: export declare function f(x: any): string;');
    expect(faults[1]).toContain('no-such-package');
  });

  it('passes what has none, and leaves out what a deleted source left behind', () => {
    write({
      'libs/a/src/index.ts': '',
      'libs/a/dist/index.d.ts': 'export declare const x: unknown;\n',
      'libs/a/dist/old.d.ts': 'export declare const y: any;\n',
    });
    expect(findPublishedAny(clone)).toEqual({ faults: [], files: 1 });
  });

  it('fails when nothing was built', () => {
    write({ 'libs/a/src/index.ts': '' });
    expect(findPublishedAny(clone).faults).toHaveLength(1);
  });
});

describe('the check for time and chance', () => {
  it('finds each way to them', () => {
    const text = [
      "import { readFileSync } from 'node:fs';",
      "import { createHash, randomUUID } from 'node:crypto';",
      'const a = Date.now() + Math.random();',
      'setTimeout(() => {}, 5);',
      'const b = new Date();',
      'const c = globalThis.performance.now();',
      'const d = process.hrtime.bigint();',
    ].join('\n');
    const faults = nondeterminismIn('x.ts', text).map((fault) => fault.replace(/ is used.*/, ''));
    const names = [
      "1: the module 'node:fs'",
      '2: randomUUID',
      '3: Date.now',
      '3: Math.random',
      '4: setTimeout',
      '5: new Date()',
      '6: performance',
      '7: process.hrtime',
    ];
    expect(faults).toEqual(names.map((name) => `x.ts:${name}`));
  });

  it('lets a port be used, types be named and a date be made of a number', () => {
    const text =
      "import type { Stats } from 'node:fs';\nclock.setTimeout(1); const d = new Date(ms); interface C { setTimeout(ms: number): void }\nconst h = { performance: 1 };\n// Date.now()";
    expect(nondeterminismIn('x.ts', text)).toEqual([]);
  });

  it('leaves out the database engine and the tests', () => {
    write({
      'libs/streams/src/state/leveldb-engine.ts': "import 'node:fs';",
      'libs/streams/src/state/a.spec.ts': 'Date.now();',
      'libs/streams/src/runtime/deep/task.ts': 'Date.now();',
    });
    const { faults, files } = findNondeterminism(clone);
    expect(files).toBe(1);
    expect(faults).toEqual([
      'libs/streams/src/runtime/deep/task.ts:1: Date.now is used directly; take it from a port (Clock, Random, StoreEngine).',
    ]);
  });
});

describe('the type tests', () => {
  beforeEach(() => {
    const compilerOptions = {
      strict: true,
      skipLibCheck: true,
      target: 'ES2023',
      lib: ['ES2023'],
      module: 'nodenext',
      customConditions: ['@tally/source'],
      types: [],
    };
    write({ 'tsconfig.base.json': JSON.stringify({ compilerOptions }), 'package.json': '{"type":"module"}', 'libs/a/src/index.ts': '' });
  });

  it('pass when each expected error comes', () => {
    write({ 'libs/a/type-tests/a.ts': '// @ts-expect-error a string is no number\nexport const a: number = "x";\n' });
    expect(checkTypeTests(typeTestFiles(clone), clone)).toEqual({ faults: [], expectations: 1 });
  });

  it('fail when an expected error does not come', () => {
    write({ 'libs/a/src/a.types.ts': '// @ts-expect-error nothing is wrong here\nexport const a: number = 1;\n' });
    expect(checkTypeTests(typeTestFiles(clone), clone).faults[0]).toContain("Unused '@ts-expect-error' directive");
  });

  it('fail when there are none', () => {
    expect(checkTypeTests(typeTestFiles(clone), clone).faults).toHaveLength(1);
  });
});

describe('the import arrows', () => {
  /** @returns {Promise<string[]>} the names of the rules that were broken */
  async function brokenRules() {
    cpSync(join(root, '.dependency-cruiser.cjs'), join(clone, '.dependency-cruiser.cjs'));
    write({ 'tsconfig.json': '{}', 'package.json': '{"type":"module"}' });
    const args = [
      tool('dependency-cruiser/bin/dependency-cruise.mjs'),
      'libs',
      'apps',
      '--config',
      '.dependency-cruiser.cjs',
      '--output-type',
      'json',
    ];
    const { stdout } = await run(process.execPath, args, { cwd: clone });
    /** @type {{summary: {violations: {rule: {name: string}, from: string}[]}}} */
    const { summary } = JSON.parse(stdout);
    return [...new Set(summary.violations.map(({ rule, from }) => `${rule.name} ${from}`))].sort();
  }

  it('pass what points the right way', async () => {
    write({
      'libs/streams/src/core/a.ts': 'export const a = 1;',
      'libs/streams/src/state/b.ts': "export { a } from '../core/a.js';",
      'libs/streams/src/runtime/c.ts': "export { a } from '../state/b.js';",
      'libs/streams/src/index.ts': "export { a } from './runtime/c.js';",
      'libs/kafka/src/index.ts': "export { a } from '../../streams/src/index.js';",
      'apps/x/src/main.ts': "export { a } from '../../../libs/kafka/src/index.js';",
    });
    expect(await brokenRules()).toEqual([]);
  });

  it('are broken by each import against them', async () => {
    write({
      'node_modules/@confluentinc/kafka-javascript/index.js': '',
      'libs/streams/src/core/a.ts': "import '../runtime/c.js';",
      'libs/streams/src/runtime/c.ts': "import '../dsl/d.js';",
      'libs/streams/src/dsl/d.ts': "import '@confluentinc/kafka-javascript';",
      'libs/streams/src/index.ts': "import '../../kafka/src/index.js';",
      'libs/kafka/src/index.ts': "import '../../streams/src/core/a.js';",
      'apps/x/src/main.ts': "import '@confluentinc/kafka-javascript';",
      'apps/x/load/main.ts': "import '@confluentinc/kafka-javascript';",
      'apps/x/demo/checker.ts': "import './sums.js';",
      'apps/x/demo/sums.ts': "import '../../../libs/kafka/src/index.js';",
    });
    const broken = await brokenRules();
    for (const expected of [
      'engine-core libs/streams/src/core/a.ts',
      'engine-runtime libs/streams/src/runtime/c.ts',
      'engine-without-frameworks libs/streams/src/dsl/d.ts',
      'independent-checker apps/x/demo/checker.ts',
      'library-streams libs/streams/src/index.ts',
      'public-face-only libs/kafka/src/index.ts',
      'sole-importer-of-the-client apps/x/src/main.ts',
      'sole-importer-of-the-client libs/streams/src/dsl/d.ts',
    ]) {
      expect(broken).toContain(expected);
    }
    expect(broken).not.toContain('sole-importer-of-the-client apps/x/load/main.ts');
  });
});
