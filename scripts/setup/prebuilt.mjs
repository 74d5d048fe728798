// @ts-check
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { run } from '../support/command.mjs';
import { say, tail, withProgress } from '../support/report.mjs';

/** A firewall that drops packets answers never; who can be reached answers sooner than this. */
const connectTimeoutMs = 5_000;
const downloadTimeoutMs = 3 * 60_000;

/**
 * Lets the package's own installer download a prebuilt library.
 *
 * @param {string} name of the npm package
 * @param {string} directory of the clone
 * @returns {Promise<boolean>} whether it came
 */
export async function downloadPrebuilt(name, directory) {
  const manifest = JSON.parse(readFileSync(join(directory, 'node_modules', name, 'package.json'), 'utf8'));
  const { hostname } = new URL(manifest.binary.host);
  if (!usesProxy() && !(await reachable(hostname, 443))) {
    say(`No prebuilt Kafka client: ${hostname} cannot be reached.`);
    return false;
  }
  return withProgress('Downloading a prebuilt Kafka client', async () => {
    const { code, output } = await run('npm', ['explore', name, '--', 'node-pre-gyp install'], {
      cwd: directory,
      timeoutMs: downloadTimeoutMs,
    });
    if (code !== 0) say(`No prebuilt Kafka client: ${tail(output.replaceAll(/^.*(ERR!|warn)\s*/gm, ''), 1) || `code ${code}`}`);
    return code === 0;
  });
}

function usesProxy() {
  return ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY', 'npm_config_proxy', 'npm_config_https_proxy'].some(
    (name) => process.env[name],
  );
}

/**
 * @param {string} host
 * @param {number} port
 * @param {number} timeoutMs
 * @returns {Promise<boolean>}
 */
export function reachable(host, port, timeoutMs = connectTimeoutMs) {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    /** @param {boolean} answer */
    const finish = (answer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // Not the socket's own time-out: that one starts only when the name has been resolved.
    const timer = setTimeout(() => finish(false), timeoutMs);
    socket.on('connect', () => finish(true));
    socket.on('error', () => finish(false));
  });
}
