// @ts-check
import { describe, expect, it } from 'vitest';
import { MissingError } from '../support/report.mjs';
import { checkNode, compareVersions, parseVersion } from './node-version.mjs';

describe('the version of Node', () => {
  it('is read from each form in which it is written', () => {
    expect(parseVersion('v20.19.6')).toEqual([20, 19, 6]);
    expect(parseVersion('24.0.0-nightly20260101')).toEqual([24, 0, 0]);
    expect(() => parseVersion('twenty')).toThrow("'twenty' is no version");
  });

  it('is compared number by number', () => {
    expect(compareVersions('20.9.0', '20.19.6')).toBeLessThan(0);
    expect(compareVersions('24.0.0', '20.19.6')).toBeGreaterThan(0);
    expect(compareVersions('20.19.10', '20.19.9')).toBeGreaterThan(0);
    expect(compareVersions('v20.19.6', '20.19.6')).toBe(0);
  });

  it('is refused when it is too old, with what to do', () => {
    expect(() => checkNode('20.19.6')).not.toThrow();
    expect(() => checkNode('20.19.4')).toThrow(MissingError);
    expect(() => checkNode('18.20.8')).toThrow(
      /Node 20\.19\.6 or newer is missing: this is Node 18\.20\.8\.\n {2}why: .*\n {2}command: nvm install 24/,
    );
  });
});
