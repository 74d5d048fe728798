// @ts-check
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { installCommand, installSystemPackages, notInstalled, packageManager, packageManagers } from './system-packages.mjs';

let commands = '';
beforeEach(() => {
  commands = mkdtempSync(join(tmpdir(), 'tally-commands-'));
  vi.stubEnv('PATH', commands);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(commands, { recursive: true, force: true });
});

/**
 * @param {string} name
 * @param {string} script
 */
function fake(name, script) {
  writeFileSync(join(commands, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(commands, name), 0o755);
}

const explanation = {
  why: 'It is compiled.',
  choose: (/** @type {import('./system-packages.mjs').PackageManager} */ manager) => manager.clientBuild,
};

describe('packages of the operating system', () => {
  it('are named for every known system where none is recognised', async () => {
    expect(packageManager()).toBeUndefined();
    const command = installCommand(explanation.choose);
    for (const { command: name } of packageManagers) expect(command).toContain(name);
    await expect(installSystemPackages(['libssl-dev'], explanation)).rejects.toThrow(
      /missing: libssl-dev\.\n {2}why: {5}It is compiled\.\n {2}command: apt-get/,
    );
  });

  it('are only named on Fedora, never installed unasked', async () => {
    fake('dnf', 'echo "dnf must not run" >&2; exit 1');
    await expect(installSystemPackages(['openssl-devel'], explanation)).rejects.toThrow(/command: (sudo )?dnf install -y openssl-devel/);
  });

  it('are asked for one by one', async () => {
    const [apt] = packageManagers;
    fake('apt-get', 'exit 1');
    fake('dpkg-query', 'echo "installed make"; echo "not-installed g++"; exit 1');
    expect(apt && (await notInstalled(apt, ['make', 'g++', 'zlib1g-dev']))).toEqual(['g++', 'zlib1g-dev']);
  });

  it('are installed by root on Debian', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(0);
    fake('apt-get', `echo "$@" >> ${join(commands, 'calls')}`);
    fake('env', `shift; exec "$@"`);
    await installSystemPackages(['zlib1g-dev'], explanation);
    const { readFileSync } = await import('node:fs');
    expect(readFileSync(join(commands, 'calls'), 'utf8')).toBe('update\ninstall -y --no-install-recommends zlib1g-dev\n');
  });

  it('are named when the user may not install them', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(1000);
    fake('apt-get', 'exit 1');
    fake('sudo', 'exit 1');
    await expect(installSystemPackages(['zlib1g-dev'], explanation)).rejects.toThrow(
      'sudo apt-get update && sudo apt-get install -y --no-install-recommends zlib1g-dev',
    );
  });

  it('show why their installation failed', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(0);
    fake('apt-get', '[ "$1" = update ] || { echo "E: Unable to locate package"; exit 100; }');
    fake('env', `shift; exec "$@"`);
    await expect(installSystemPackages(['zlib1g-dev'], explanation)).rejects.toThrow('E: Unable to locate package');
  });
});
