// @ts-check
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keep } from './native-client.mjs';
import { whyNotLoadable } from './native-library.mjs';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-client-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the native client', () => {
  it('is kept without the intermediate files of its build', async () => {
    const build = join(directory, 'build');
    mkdirSync(join(build, 'Release', 'obj.target'), { recursive: true });
    mkdirSync(join(build, 'deps'));
    writeFileSync(join(build, 'Release', 'client.node'), 'native');
    writeFileSync(join(build, 'deps', 'librdkafka.so.1'), 'library');
    writeFileSync(join(build, 'deps', 'librdkafka.a'), 'archive');
    symlinkSync('librdkafka.so.1', join(build, 'deps', 'librdkafka.so'));
    const kept = join(directory, 'cache', 'key');
    await keep(build, kept);
    expect(readdirSync(kept, { recursive: true }).sort()).toEqual([
      'Release',
      'Release/client.node',
      'deps',
      'deps/librdkafka.so',
      'deps/librdkafka.so.1',
    ]);
    expect(lstatSync(join(kept, 'deps', 'librdkafka.so')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(kept, 'deps', 'librdkafka.so'), 'utf8')).toBe('library');
  });

  it('is used even where it cannot be kept', async () => {
    writeFileSync(join(directory, 'file'), '');
    await expect(keep(join(directory, 'build'), join(directory, 'file', 'key'))).resolves.toBeUndefined();
  });

  it('says why a library does not load', async () => {
    mkdirSync(join(directory, 'node_modules', 'broken'), { recursive: true });
    writeFileSync(join(directory, 'node_modules', 'broken', 'index.js'), "throw new Error('libssl.so.9: cannot open shared object file')");
    expect(await whyNotLoadable('broken', directory)).toContain('libssl.so.9: cannot open shared object file');
    writeFileSync(join(directory, 'node_modules', 'broken', 'index.js'), "process.kill(process.pid, 'SIGSEGV')");
    expect(await whyNotLoadable('broken', directory)).toContain('ended with code');
    expect(existsSync(directory)).toBe(true);
  });
});
