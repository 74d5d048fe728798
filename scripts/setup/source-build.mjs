// @ts-check
import { run, which } from '../support/command.mjs';
import { MissingError, tail, withProgress } from '../support/report.mjs';
import { nodeHeaders } from './host.mjs';
import { installSystemPackages, installCommand, notInstalled, packageManager } from './system-packages.mjs';

const why = 'The Kafka client has a native part. No prebuilt one fits or can be downloaded here, so it is compiled from its source.';
/** @param {import('./system-packages.mjs').PackageManager} manager */
const choose = (manager) => manager.clientBuild;

/**
 * Compiles the Kafka client with the libraries of the operating system: the default, a static build, would download the sources of five more.
 *
 * @param {string} name of the npm package
 * @param {string} directory of the clone
 */
export async function buildFromSource(name, directory) {
  const manager = packageManager();
  if (manager !== undefined) {
    const missing = await notInstalled(
      manager,
      manager.clientBuild.filter((each) => !isCommandHere(each)),
    );
    if (missing.length > 0) await installSystemPackages(missing, { why, choose });
  }
  const headers = nodeHeaders();
  const env = {
    ...process.env,
    CKJS_LINKING: 'dynamic',
    npm_config_build_from_source: 'true',
    ...(headers === undefined ? {} : { npm_config_nodedir: headers }),
  };
  await withProgress('Compiling the Kafka client (1 to 3 minutes)', async () => {
    const { code, output } = await run('npm', ['explore', name, '--', 'node-pre-gyp install --build-from-source'], {
      cwd: directory,
      env,
      timeoutMs: 20 * 60_000,
    });
    if (code === 0) return;
    throw new MissingError({
      what: `The Kafka client could not be compiled${headers === undefined ? '; the headers of this Node are not installed, so they are downloaded' : ''}.`,
      why,
      command: `${installCommand(choose)}\nthen run the same command again; the whole log is what this prints:\ncd ${directory} && CKJS_LINKING=dynamic npm explore ${name} -- node-pre-gyp install --build-from-source`,
      detail: tail(output),
    });
  });
}

/**
 * A tool may have come by another way than the system's packages.
 *
 * @param {string} name of a package
 */
function isCommandHere(name) {
  return ['make', 'g++', 'python3'].includes(name) && which(name) !== undefined;
}
