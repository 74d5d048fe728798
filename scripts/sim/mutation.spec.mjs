import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from '../support/paths.mjs';
import { MutantCompiler } from './mutant-compiler.mjs';
import { mutatedFiles } from './mutation.mjs';
import { chosenMutations, mutations } from './mutations/index.mjs';

const sources = join(root, 'libs', 'streams', 'src');

describe('the mutations', () => {
  it('are those from a to r, each recorded with a history that shows it', () => {
    expect(mutations.map(({ letter }) => letter).join('')).toBe('abcdefghijklmnopqr');
    expect(new Set(mutations.map(({ title }) => title)).size).toBe(18);
    for (const { seeds } of mutations) expect(seeds.length).toBeGreaterThan(0);
  });

  it('are chosen by their letters', () => {
    expect(chosenMutations([])).toBe(mutations);
    expect(chosenMutations(['k', 'a']).map(({ letter }) => letter)).toEqual(['a', 'k']);
    expect(() => chosenMutations(['z'])).toThrow("There is no mutation 'z'");
  });

  it.each(mutations)('($letter) fits the engine as it is', (mutation) => {
    for (const text of mutatedFiles(mutation, sources).values()) expect(text).not.toBe('');
  });
});

describe('an edit', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tally-mutation-'));
    writeFileSync(join(folder, 'a.ts'), 'one two two');
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const mutationOf = (...edits) => ({ letter: 'x', title: 'something wrong', harm: 'much', seeds: [1], edits });

  it('replaces a text; several in one file build on each other', () => {
    const edits = [
      { file: 'a.ts', find: 'one', replace: '$& three' },
      { file: 'a.ts', find: 'three', replace: 'four' },
    ];
    expect([...mutatedFiles(mutationOf(...edits), folder).values()]).toEqual(['$& four two two']);
  });

  it.each([
    ['zero', 'occurs there 0 times'],
    ['two', 'occurs there 2 times'],
  ])('refuses a text that is not there exactly once: %s', (find, message) => {
    const mutation = mutationOf({ file: 'a.ts', find, replace: '' });
    expect(() => mutatedFiles(mutation, folder)).toThrow(message);
    expect(() => mutatedFiles(mutation, folder)).toThrow('scripts/sim/mutations/x.mjs');
  });
});

describe('the compiler', () => {
  let library = '';
  beforeEach(() => {
    library = mkdtempSync(join(tmpdir(), 'tally-mutant-'));
    mkdirSync(join(library, 'src'));
    const compilerOptions = {
      rootDir: 'src',
      outDir: 'dist',
      module: 'nodenext',
      strict: true,
      composite: true,
      types: [],
      skipLibCheck: true,
    };
    writeFileSync(join(library, 'tsconfig.lib.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
    writeFileSync(join(library, 'package.json'), JSON.stringify({ type: 'module' }));
    writeFileSync(join(library, 'src', 'sum.ts'), 'export const sum = (left: number, right: number): number => left + right;');
    writeFileSync(join(library, 'src', 'index.ts'), "import { sum } from './sum.js';\nexport const three = sum(1, 2);");
  });
  afterEach(() => rmSync(library, { recursive: true }));

  it('compiles what is replaced, complains about what depends on it and does not fit any more, and forgets it again', () => {
    const compiler = new MutantCompiler(library);
    const file = join(library, 'src', 'sum.ts');
    const right = compiler.compile(new Map([[file, 'export const sum = (left: number, right: number): number => left - right;']]));
    expect(right.errors).toEqual([]);
    expect([...right.outputs]).toEqual([['sum.js', 'export const sum = (left, right) => left - right;\n']]);
    const wrong = compiler.compile(new Map([[file, 'export const sum = (left: number): number => left;']]));
    expect(wrong.errors.join('\n')).toContain('Expected 1 arguments, but got 2');
    expect(compiler.compile(new Map()).errors).toEqual([]);
  });

  it('refuses an engine that does not compile unbroken', () => {
    writeFileSync(join(library, 'src', 'index.ts'), 'export const three: string = 3;');
    expect(() => new MutantCompiler(library).compile(new Map())).toThrow('The unbroken engine does not compile');
  });
});
