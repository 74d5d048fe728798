// @ts-check
import { createRequire } from 'node:module';

/**
 * Base URL of Maven Central, as the package that makes addresses of Maven artifacts knows it.
 *
 * @returns {Promise<string>}
 */
export async function mavenCentral() {
  // Loaded when it is needed: the set-up has installed the packages by then, and not before.
  const { default: artifactUrl } = createRequire(import.meta.url)('mvn-artifact-url');
  const probe = { groupId: 'g', artifactId: 'a', version: '1', extension: 'jar' };
  /** @type {string} */
  const url = await artifactUrl(probe);
  return url.slice(0, url.indexOf('/g/a/1/'));
}
