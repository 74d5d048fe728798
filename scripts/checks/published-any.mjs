// @ts-check
/**
 * Looks for `any` in the declarations that users of the libraries compile against. The compiler writes an inferred one out, so it is found as well; a type
 * that cannot be resolved counts too, since it is silently `any` to whoever skips the checking of libraries.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { root } from '../support/paths.mjs';

/**
 * @param {string} directory of a clone, built
 * @returns {{faults: string[], files: number}} one line per fault
 */
export function findPublishedAny(directory = root) {
  const files = publishedDeclarations(directory);
  if (files.length === 0) return { faults: ['No declarations were found: build the libraries first (npm run build).'], files: 0 };
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts'],
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
  });
  const faults = [];
  for (const file of files) {
    const source = program.getSourceFile(file);
    if (source === undefined) continue;
    faults.push(...anyKeywords(source).map(({ line, text }) => `${relative(directory, file)}:${line}: any in: ${text}`));
    faults.push(
      ...program
        .getSemanticDiagnostics(source)
        .map((diagnostic) => `${relative(directory, file)}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')}`),
    );
  }
  return { faults, files: files.length };
}

/**
 * @param {ts.SourceFile} source
 * @returns {{line: number, text: string}[]}
 */
export function anyKeywords(source) {
  /** @type {{line: number, text: string}[]} */
  const found = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push({ line: line + 1, text: (source.text.split('\n')[line] ?? '').trim() });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** @param {string} directory */
function publishedDeclarations(directory) {
  const libraries = join(directory, 'libs');
  return readdirSync(libraries)
    .map((name) => join(libraries, name))
    .filter((library) => existsSync(join(library, 'dist')))
    .flatMap((library) =>
      readdirSync(join(library, 'dist'), { recursive: true, encoding: 'utf8' })
        // The build does not remove what it made of a source that was deleted since.
        .filter((file) => file.endsWith('.d.ts') && existsSync(join(library, 'src', file.replace(/\.d\.ts$/, '.ts'))))
        .map((file) => join(library, 'dist', file)),
    );
}
