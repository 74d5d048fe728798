// @ts-check
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { chooseAllocator, findAllocator, provideAllocator } from './allocator.mjs';

const variable = process.platform === 'darwin' ? 'DYLD_INSERT_LIBRARIES' : 'LD_PRELOAD';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-allocator-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the allocator', () => {
  it('is the one that the user names', () => {
    const library = join(directory, 'libmimalloc.so.2');
    writeFileSync(library, '');
    expect(chooseAllocator({ TALLY_ALLOCATOR: library })).toEqual({
      title: `libmimalloc.so.2 (${library})`,
      library,
      env: { [variable]: library },
    });
    expect(chooseAllocator({ TALLY_ALLOCATOR: library, [variable]: '/other.so' }).env).toEqual({ [variable]: `${library}:/other.so` });
    expect(chooseAllocator({ TALLY_ALLOCATOR: library, [variable]: library }).env).toEqual({ [variable]: library });
  });

  it('has one arena where it is jemalloc, unless the user says otherwise', () => {
    const library = join(directory, 'libjemalloc.so.2');
    writeFileSync(library, '');
    expect(chooseAllocator({ TALLY_ALLOCATOR: library }).env).toEqual({ [variable]: library, MALLOC_CONF: 'narenas:1' });
    expect(chooseAllocator({ TALLY_ALLOCATOR: library, MALLOC_CONF: 'thp:always' }).env).toMatchObject({ MALLOC_CONF: 'thp:always' });
  });

  it('is jemalloc rather than mimalloc', () => {
    const extension = process.platform === 'darwin' ? '.dylib' : '.so';
    const [jemalloc, mimalloc] = [join(directory, `libjemalloc${extension}`), join(directory, `libmimalloc${extension}`)];
    for (const library of [jemalloc, mimalloc]) writeFileSync(library, '');
    expect(findAllocator([directory], [])).toBe(jemalloc);
    rmSync(jemalloc);
    expect(findAllocator([directory], [])).toBe(mimalloc);
  });

  it("is the C library's own when the user wants none", () => {
    expect(chooseAllocator({ TALLY_ALLOCATOR: 'none' })).toEqual({
      title: "the C library's own",
      library: undefined,
      env: { [variable]: '' },
    });
  });

  it('is refused when it does not exist', () => {
    expect(() => chooseAllocator({ TALLY_ALLOCATOR: '/nowhere/libx.so' })).toThrow(
      'TALLY_ALLOCATOR names /nowhere/libx.so, which does not exist.',
    );
  });
});

describe('an allocator that is missing', () => {
  beforeEach(() => {
    vi.stubEnv('PATH', directory);
    vi.spyOn(process, 'getuid').mockReturnValue(0);
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    command('env', 'shift; exec "$@"');
    command('apt-get', 'echo "$@" >> "$0.calls"');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  /**
   * @param {string} name
   * @param {string} script
   */
  function command(name, script) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(directory, name), 0o755);
  }

  const installed = () => {
    const calls = join(directory, 'apt-get.calls');
    return existsSync(calls) ? readFileSync(calls, 'utf8').match(/install .*/g) : [];
  };
  const said = () => vi.mocked(process.stderr.write).mock.calls.join('');

  it('is installed where packages may be', async () => {
    await provideAllocator({}, () => undefined);
    expect(installed()).toEqual(['install -y --no-install-recommends libjemalloc2']);
  });

  it('is not installed where one is found or the user has chosen', async () => {
    await provideAllocator({}, () => '/usr/lib/libjemalloc.so.2');
    await provideAllocator({ TALLY_ALLOCATOR: 'none' }, () => undefined);
    expect(installed()).toEqual([]);
  });

  it('is not installed by a user who may not', async () => {
    vi.mocked(/** @type {() => number} */ (process.getuid)).mockReturnValue(1000);
    command('sudo', 'exit 1');
    await provideAllocator({}, () => undefined);
    expect(installed()).toEqual([]);
  });

  it('is another one when the release does not have the first', async () => {
    command('apt-get', 'echo "$@" >> "$0.calls"; case "$*" in *jemalloc*) echo "E: Unable to locate package"; exit 100;; esac');
    await provideAllocator({}, () => undefined);
    expect(installed()).toEqual(['install -y --no-install-recommends libjemalloc2', 'install -y --no-install-recommends libmimalloc2.0']);
    expect(said()).toContain('E: Unable to locate package');
  });

  it('stops nothing when it cannot be installed', async () => {
    command('apt-get', 'exit 100');
    await provideAllocator({}, () => undefined);
    expect(said()).toContain('Going on without libmimalloc2.0');
  });
});
