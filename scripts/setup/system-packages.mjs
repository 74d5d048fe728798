// @ts-check
import { run, which } from '../support/command.mjs';
import { MissingError, tail, withProgress } from '../support/report.mjs';

/**
 * One way to install packages of the operating system.
 *
 * @typedef {object} PackageManager
 * @property {string} command
 * @property {(packages: readonly string[]) => readonly string[]} query a command that prints the names of those that are installed
 * @property {string} install what a person types before the packages' names
 * @property {readonly string[]} clientBuild packages to compile the Kafka client with
 * @property {string} java package of a Java runtime
 * @property {readonly [string, ...string[]]} allocators packages of a faster memory allocator, of which one is enough, the best one first
 */

/** @type {readonly PackageManager[]} */
export const packageManagers = [
  {
    command: 'apt-get',
    query: (packages) => ['dpkg-query', '-W', '-f=${db:Status-Status} ${Package}\n', ...packages],
    install: 'apt-get update && apt-get install -y --no-install-recommends',
    clientBuild: [
      'make',
      'g++',
      'python3',
      'libcurl4-openssl-dev',
      'libssl-dev',
      'libsasl2-dev',
      'libzstd-dev',
      'zlib1g-dev',
      'liblz4-dev',
    ],
    java: 'openjdk-17-jre-headless',
    allocators: ['libjemalloc2', 'libmimalloc2.0'],
  },
  {
    command: 'dnf',
    query: (packages) => ['rpm', '-q', '--qf', 'installed %{NAME}\n', ...packages],
    install: 'dnf install -y',
    clientBuild: [
      'make',
      'gcc-c++',
      'python3',
      'libcurl-devel',
      'openssl-devel',
      'cyrus-sasl-devel',
      'libzstd-devel',
      'zlib-devel',
      'lz4-devel',
    ],
    java: 'java-21-openjdk-headless',
    allocators: ['jemalloc', 'mimalloc'],
  },
  {
    command: 'apk',
    query: (packages) => ['sh', '-c', 'for p; do apk info -e "$p" >/dev/null && echo "installed $p"; done', 'sh', ...packages],
    install: 'apk add',
    clientBuild: ['build-base', 'bash', 'python3', 'curl-dev', 'openssl-dev', 'cyrus-sasl-dev', 'zstd-dev', 'zlib-dev', 'lz4-dev'],
    java: 'openjdk17-jre-headless',
    allocators: ['jemalloc', 'mimalloc2'],
  },
  {
    command: 'brew',
    query: (packages) => ['sh', '-c', 'for p; do brew list "$p" >/dev/null 2>&1 && echo "installed $p"; done', 'sh', ...packages],
    install: 'brew install',
    clientBuild: ['python3', 'openssl@3', 'cyrus-sasl', 'zstd', 'lz4'],
    java: 'openjdk@21',
    allocators: ['jemalloc', 'mimalloc'],
  },
];

/** @returns {PackageManager | undefined} */
export function packageManager() {
  return packageManagers.find(({ command }) => which(command) !== undefined);
}

/**
 * What to type to get a kind of package, for messages.
 *
 * @param {(manager: PackageManager) => readonly string[]} choose
 * @param {PackageManager | undefined} manager
 */
export function installCommand(choose, manager = packageManager()) {
  if (manager !== undefined) return asRoot(manager, choose(manager));
  return packageManagers.map((each) => `${each.command.padEnd(8)} ${asRoot(each, choose(each))}`).join('\n');
}

/**
 * @param {PackageManager} manager
 * @param {readonly string[]} packages
 */
function asRoot(manager, packages) {
  const sudo = manager.command === 'brew' || process.getuid?.() === 0 ? '' : 'sudo ';
  return `${manager.install
    .split(' && ')
    .map((part) => `${sudo}${part}`)
    .join(' && ')} ${packages.join(' ')}`;
}

/**
 * @param {PackageManager} manager
 * @param {readonly string[]} packages
 * @returns {Promise<string[]>} those that are not installed
 */
export async function notInstalled(manager, packages) {
  const [command = '', ...args] = manager.query(packages);
  const { stdout } = await run(command, args, { timeoutMs: 60_000 });
  const installed = new Set(
    stdout
      .split('\n')
      .filter((line) => line.startsWith('installed '))
      .map((line) => line.slice('installed '.length)),
  );
  return packages.filter((name) => !installed.has(name));
}

/** Whether `installSystemPackages` would install anything here. */
export async function mayInstall() {
  return (await privilege(packageManager())) !== undefined;
}

/**
 * Installs packages where that is allowed without asking: on Debian's family, as root or with a sudo that wants no password.
 *
 * @param {readonly string[]} packages
 * @param {{why: string, choose: (manager: PackageManager) => readonly string[]}} explanation
 */
export async function installSystemPackages(packages, { why, choose }) {
  const manager = packageManager();
  const what = `Packages of the operating system are missing: ${packages.join(', ')}.`;
  const command = manager === undefined ? installCommand(choose) : asRoot(manager, packages);
  const prefix = await privilege(manager);
  if (prefix === undefined) throw new MissingError({ what, why, command });
  await withProgress(`Installing packages of the operating system (${packages.join(', ')})`, async () => {
    const environment = ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'];
    const [tool = '', ...rest] = [...prefix, ...environment];
    await run(tool, [...rest, 'update'], { timeoutMs: 5 * 60_000 });
    const { code, output } = await run(tool, [...rest, 'install', '-y', '--no-install-recommends', ...packages], {
      timeoutMs: 15 * 60_000,
    });
    if (code !== 0) throw new MissingError({ what, why, command, detail: tail(output, 15) });
  });
}

/**
 * @param {PackageManager | undefined} manager
 * @returns {Promise<string[] | undefined>} what to put before a command that needs root, nothing when it is not to be run unasked
 */
async function privilege(manager) {
  if (manager?.command !== 'apt-get') return undefined;
  if (process.getuid?.() === 0) return [];
  if (which('sudo') === undefined) return undefined;
  return (await run('sudo', ['-n', 'true'], { timeoutMs: 10_000 })).code === 0 ? ['sudo', '-n'] : undefined;
}
