// @ts-check
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nativeKey, nodeHeaders } from './host.mjs';

let prefix = '';
beforeEach(() => {
  prefix = mkdtempSync(join(tmpdir(), 'tally-headers-'));
});
afterEach(() => rmSync(prefix, { recursive: true, force: true }));

/** @param {string} version */
function installHeaders(version) {
  const [major, minor, patch] = version.split('.');
  mkdirSync(join(prefix, 'include', 'node'), { recursive: true });
  writeFileSync(join(prefix, 'include', 'node', 'node.h'), '');
  const text = `#define NODE_MAJOR_VERSION ${major}\n#define NODE_MINOR_VERSION ${minor}\n#define NODE_PATCH_VERSION ${patch}\n`;
  writeFileSync(join(prefix, 'include', 'node', 'node_version.h'), text);
}

describe('the host', () => {
  it('has the headers of its Node beside the executable', () => {
    installHeaders('99.1.2');
    expect(nodeHeaders(join(prefix, 'bin', 'node'), '99.1.2')).toBe(prefix);
  });

  it('does not take the headers of another version', () => {
    installHeaders('99.1.2');
    expect(nodeHeaders(join(prefix, 'bin', 'node'), '99.1.3')).toBeUndefined();
  });

  it('is named by all that a native library depends on', () => {
    expect(nativeKey('1.2.3')).toMatch(new RegExp(`^1\\.2\\.3-node${process.versions.modules}-${process.platform}-${process.arch}-\\S+$`));
  });
});
