// @ts-check
import { MissingError } from '../support/report.mjs';

/** Older ones crash while the application is built: a library of the build tool needs `require` of an ES module. */
export const oldestNode = '20.19.6';

/** The version to install where none is required: Node 20 gets no security fixes any more. */
export const recommendedNode = '24';

/**
 * @param {string} version `v20.19.6`, `20.19.6` or `24.0.0-nightly2025`
 * @returns {[number, number, number]}
 */
export function parseVersion(version) {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  if (match === null) throw new Error(`'${version}' is no version: it should look like 20.19.6.`);
  return [Number(match[1]), Number(match[2]), Number(match[3])];
}

/**
 * @param {string} left
 * @param {string} right
 * @returns {number} below 0 when `left` is older, above 0 when it is newer
 */
export function compareVersions(left, right) {
  const [a, b] = [parseVersion(left), parseVersion(right)];
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** @param {string} version */
export function checkNode(version = process.versions.node) {
  if (compareVersions(version, oldestNode) >= 0) return;
  throw new MissingError({
    what: `Node ${oldestNode} or newer is missing: this is Node ${version}.`,
    why: 'Tally and the tools that build it use features that older versions lack.',
    command: `nvm install ${recommendedNode}      (or take Node ${recommendedNode} from nodejs.org or your system's packages)`,
  });
}
