// @ts-check
/**
 * Time, chance and the file system reach the runtime, the state and the operators through ports only: else the simulator could not repeat a run, and the
 * test driver could not set the clock.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { root } from '../support/paths.mjs';

const folders = ['runtime', 'state', 'operators', 'topology', 'dsl', 'serde'].map((name) => `libs/streams/src/${name}`);

/** The engine is the port's implementation over real files. */
const exempt = [/^libs\/streams\/src\/state\/leveldb-[\w-]+\.ts$/, /\.(spec|suite|fixture)\.ts$/];

const members = new Map([
  ['Date', ['now', 'UTC']],
  ['Math', ['random']],
  ['process', ['hrtime', 'uptime', 'nextTick']],
  ['crypto', ['randomUUID', 'randomBytes', 'getRandomValues']],
]);
const globals = new Set(['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'performance']);
const modules = /^(node:)?(fs|timers|perf_hooks|os|child_process|worker_threads)(\/.*)?$/;
/** A hash is no chance; of the same module these are. */
const random = /^(random\w*|getRandomValues|webcrypto)$/;

/**
 * @param {string} directory of a clone
 * @returns {{faults: string[], files: number}}
 */
export function findNondeterminism(directory = root) {
  const files = folders
    .filter((folder) => existsSync(join(directory, folder)))
    .flatMap((folder) => readdirSync(join(directory, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.ts') && !exempt.some((pattern) => pattern.test(file)));
  return { faults: files.flatMap((file) => nondeterminismIn(file, readFileSync(join(directory, file), 'utf8'))), files: files.length };
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {string[]}
 */
export function nondeterminismIn(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
  /** @type {string[]} */
  const faults = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    const name = nondeterministic(node);
    if (name !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      faults.push(`${file}:${line + 1}: ${name} is used directly; take it from a port (Clock, Random, StoreEngine).`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return faults;
}

/**
 * @param {ts.Node} node
 * @returns {string | undefined} what it is, when it is not allowed
 */
function nondeterministic(node) {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier) && modules.test(node.moduleSpecifier.text)) {
    return node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? undefined : `the module '${node.moduleSpecifier.text}'`;
  }
  if (ts.isImportSpecifier(node) && random.test((node.propertyName ?? node.name).text) && /^(node:)?crypto$/.test(moduleOf(node)))
    return node.name.text;
  if (
    ts.isPropertyAccessExpression(node) &&
    ts.isIdentifier(node.expression) &&
    members.get(node.expression.text)?.includes(node.name.text)
  ) {
    return `${node.expression.text}.${node.name.text}`;
  }
  if (
    ts.isNewExpression(node) &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === 'Date' &&
    (node.arguments?.length ?? 0) === 0
  )
    return 'new Date()';
  if (ts.isIdentifier(node) && globals.has(node.text) && isReference(node)) return node.text;
  return undefined;
}

/** @param {ts.ImportSpecifier} node */
function moduleOf(node) {
  const { moduleSpecifier } = node.parent.parent.parent;
  return ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : '';
}

/**
 * Whether a name stands for the global, and is not the name of a member or a declaration.
 *
 * @param {ts.Identifier} node
 */
function isReference(node) {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent))
    return parent.expression === node || (ts.isIdentifier(parent.expression) && parent.expression.text === 'globalThis');
  return !(
    ts.isTypeQueryNode(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isTypeReferenceNode(parent)
  );
}
