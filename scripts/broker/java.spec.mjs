// @ts-check
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findJava, javaMajor } from './java.mjs';
import { startBroker } from './start-broker.mjs';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-java-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

/**
 * @param {string} folder
 * @param {string} version
 */
function fakeJava(folder, version) {
  mkdirSync(join(directory, folder), { recursive: true });
  writeFileSync(join(directory, folder, 'java'), `#!/bin/sh\necho 'openjdk version "${version}" 2026-01-01' >&2\n`);
  chmodSync(join(directory, folder, 'java'), 0o755);
  return join(directory, folder);
}

describe('Java', () => {
  it('tells its version in two ways', () => {
    expect(javaMajor('openjdk version "17.0.15" 2025-04-15')).toBe(17);
    expect(javaMajor('java version "1.8.0_402"')).toBe(8);
    expect(javaMajor('openjdk version "25" 2025-09-16')).toBe(25);
    expect(javaMajor('command not found')).toBeUndefined();
  });

  it('is taken from JAVA_HOME before the search path', async () => {
    fakeJava('home/bin', '21.0.1');
    const { java } = await findJava({ JAVA_HOME: join(directory, 'home'), PATH: fakeJava('path', '17.0.1') });
    expect(java).toEqual({ executable: join(directory, 'home', 'bin', 'java'), major: 21 });
  });

  it('is passed over when it is too old', async () => {
    fakeJava('home/bin', '11.0.2');
    const { java } = await findJava({ JAVA_HOME: join(directory, 'home'), PATH: fakeJava('path', '17.0.1') });
    expect(java?.executable).toBe(join(directory, 'path', 'java'));
  });
});

describe.runIf(process.platform === 'linux')('a broker on a machine that lacks something', () => {
  it('says what to install when there is neither Docker nor Java', async () => {
    vi.stubEnv('PATH', directory);
    vi.stubEnv('JAVA_HOME', '');
    await expect(startBroker()).rejects.toThrow(
      /^Neither a Docker engine nor Java answers\.\n {2}why: [^]*openjdk-17-jre-headless[^]*export KAFKA_BROKERS=/,
    );
  });

  it('says which Java is too old', async () => {
    vi.stubEnv('PATH', fakeJava('path', '11.0.2'));
    vi.stubEnv('JAVA_HOME', '');
    await expect(startBroker()).rejects.toThrow(`${join(directory, 'path', 'java')} is Java 11, older than 17.`);
  });

  it('says which jar could not be downloaded', async () => {
    vi.stubEnv('PATH', fakeJava('path', '17.0.1'));
    vi.stubEnv('JAVA_HOME', '');
    vi.stubEnv('TALLY_MAVEN_REPOSITORY', 'http://127.0.0.1:1/none');
    vi.stubEnv('XDG_CACHE_HOME', join(directory, 'cache'));
    await expect(startBroker()).rejects.toThrow(/^http:\/\/127\.0\.0\.1:1\/none\/\S+\.jar could not be downloaded: /);
  });

  it('refuses a choice that it does not know', async () => {
    vi.stubEnv('TALLY_BROKER', 'podman');
    await expect(startBroker()).rejects.toThrow("TALLY_BROKER is 'podman': it must be 'docker', 'java' or not set.");
  });
});
