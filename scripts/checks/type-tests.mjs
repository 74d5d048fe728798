// @ts-check
/**
 * Compiles the type tests against the published declarations, as a user's compiler would see them: `@ts-expect-error` fails where there is no error.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { root } from '../support/paths.mjs';

/**
 * Type tests are `libs/<library>/type-tests/*.ts`, and `*.types.ts` beside the code.
 *
 * @param {string} directory of a clone
 */
export function typeTestFiles(directory = root) {
  return readdirSync(join(directory, 'libs'))
    .flatMap((library) => ['src', 'type-tests'].map((folder) => join(directory, 'libs', library, folder)))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
    .filter((file) => file.endsWith('.types.ts') || (/\/type-tests\/.*\.ts$/.test(file) && !file.endsWith('.d.ts')));
}

/**
 * @param {readonly string[]} files
 * @param {string} directory
 * @returns {{faults: string[], expectations: number}} `expectations` is the number of errors that are expected
 */
export function checkTypeTests(files = typeTestFiles(), directory = root) {
  const expectations = files.reduce((sum, file) => sum + (readFileSync(file, 'utf8').match(/@ts-expect-error/g)?.length ?? 0), 0);
  if (expectations === 0) return { faults: ['No type test with @ts-expect-error was found in libs/*/type-tests.'], expectations };
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(directory, 'tsconfig.base.json'), ts.sys.readFile).config,
    ts.sys,
    directory,
  );
  const published = {
    ...options,
    composite: false,
    incremental: false,
    declaration: false,
    declarationMap: false,
    noEmit: true,
    noUnusedLocals: false,
  };
  delete published.customConditions;
  const program = ts.createProgram([...files], published);
  const host = { getCanonicalFileName: (/** @type {string} */ name) => name, getCurrentDirectory: () => directory, getNewLine: () => '\n' };
  const faults = ts.getPreEmitDiagnostics(program).map((diagnostic) => ts.formatDiagnostic(diagnostic, host).trim());
  return { faults, expectations };
}
