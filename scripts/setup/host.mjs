// @ts-check
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The C library, with its version: what was built against a newer one does not load on an older one. */
export function libc() {
  if (process.platform !== 'linux') return process.platform;
  // Node's types do not know it yet. Without it the report looks up the names of all open connections.
  if (process.report !== undefined) Object.assign(process.report, { excludeNetwork: true });
  const report = /** @type {{header?: {glibcVersionRuntime?: string}} | undefined} */ (process.report?.getReport());
  const version = report?.header?.glibcVersionRuntime;
  return version === undefined ? 'musl' : `glibc${version}`;
}

/**
 * Names the machines that can share a native library: the same library, Node ABI, system, processor and C library.
 *
 * @param {string} version of the library
 */
export function nativeKey(version) {
  return `${version}-node${process.versions.modules}-${process.platform}-${process.arch}-${libc()}`;
}

/**
 * Headers of the running Node that were installed with it. With them nothing needs to be downloaded to compile a native library.
 *
 * @param {string} executable
 * @param {string} version
 * @returns {string | undefined} the folder above `include/node`
 */
export function nodeHeaders(executable = process.execPath, version = process.versions.node) {
  for (const prefix of [dirname(dirname(executable)), '/usr', '/usr/local']) {
    const header = join(prefix, 'include', 'node', 'node_version.h');
    if (
      existsSync(join(prefix, 'include', 'node', 'node.h')) &&
      existsSync(header) &&
      headerVersion(readFileSync(header, 'utf8')) === version
    )
      return prefix;
  }
  return undefined;
}

/** @param {string} text */
function headerVersion(text) {
  return ['MAJOR', 'MINOR', 'PATCH'].map((part) => new RegExp(`#define NODE_${part}_VERSION (\\d+)`).exec(text)?.[1]).join('.');
}
