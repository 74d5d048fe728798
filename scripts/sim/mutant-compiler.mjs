// @ts-check
import { join } from 'node:path';
import ts from 'typescript';
import { root } from '../support/paths.mjs';
import { PlainError } from '../support/report.mjs';

/**
 * Compiles the engine with some of its files replaced. The whole engine is checked once; a mutant then costs only what depends on its changes.
 */
export class MutantCompiler {
  /** @type {ReadonlyMap<string, string>} */
  #replaced = new Map();
  /** @type {Map<string, ts.SourceFile>} */
  #parsed = new Map();
  #library;
  #config;
  #host;
  #unbroken;

  /** @param {string} library folder with `tsconfig.lib.json` */
  constructor(library = join(root, 'libs', 'streams')) {
    this.#library = library;
    this.#config = parsedConfig(library);
    this.#host = this.#makeHost();
    this.#unbroken = this.#program(undefined);
  }

  /**
   * @param {ReadonlyMap<string, string>} files new texts by path
   * @returns {{errors: string[], outputs: Map<string, string>}} what the compiler complains about, and the JavaScript of the files by its path below `dist`
   */
  compile(files) {
    const errors = this.#errorsOf(this.#unbroken);
    if (errors.length > 0) throw new PlainError(`The unbroken engine does not compile:\n${errors.join('\n')}`);
    this.#replaced = files;
    try {
      const program = this.#program(this.#unbroken);
      /** @type {Map<string, string>} */
      const outputs = new Map();
      for (const path of files.keys()) {
        program.emit(program.getSourceFile(path), (name, text) => {
          if (name.endsWith('.js')) outputs.set(name.slice(join(this.#library, 'dist').length + 1), text);
        });
      }
      return { errors: this.#errorsOf(program), outputs };
    } finally {
      this.#replaced = new Map();
    }
  }

  /** @param {ts.SemanticDiagnosticsBuilderProgram | undefined} before */
  #program(before) {
    return ts.createSemanticDiagnosticsBuilderProgram(this.#config.fileNames, this.#config.options, this.#host, before);
  }

  /** @param {ts.SemanticDiagnosticsBuilderProgram} program */
  #errorsOf(program) {
    const found = [...program.getSyntacticDiagnostics(), ...program.getSemanticDiagnostics()];
    return found.map((each) => ts.formatDiagnostic(each, formatHost).trim());
  }

  #makeHost() {
    /** @param {string} path */
    const read = (path) => this.#replaced.get(path) ?? ts.sys.readFile(path);
    const host = ts.createIncrementalCompilerHost(this.#config.options, { ...ts.sys, readFile: read });
    const parse = host.getSourceFile.bind(host);
    host.getSourceFile = (path, ...rest) => {
      const known = this.#parsed.get(path);
      if (known !== undefined && known.text === read(path)) return known;
      const parsed = parse(path, ...rest);
      if (parsed !== undefined) this.#parsed.set(path, parsed);
      return parsed;
    };
    return host;
  }
}

const formatHost = {
  getCanonicalFileName: (/** @type {string} */ name) => name,
  getCurrentDirectory: () => root,
  getNewLine: () => '\n',
};

/** @param {string} library */
function parsedConfig(library) {
  const file = join(library, 'tsconfig.lib.json');
  const { config, error } = ts.readConfigFile(file, ts.sys.readFile);
  if (error !== undefined) throw new PlainError(ts.formatDiagnostic(error, formatHost));
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, library);
  // Only the JavaScript is wanted, and nothing is written by the compiler.
  return {
    fileNames,
    options: { ...options, composite: false, incremental: true, declaration: false, declarationMap: false, sourceMap: false },
  };
}
