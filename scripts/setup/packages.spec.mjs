// @ts-check
import { describe, expect, it } from 'vitest';
import { missingPackages } from './packages.mjs';

const wanted = {
  packages: {
    '': { version: '0.1.0' },
    'libs/streams': { version: '0.1.0' },
    'node_modules/@tally/streams': { link: true },
    'node_modules/level': { version: '10.0.0' },
    'node_modules/vite': { version: '8.0.0' },
    'node_modules/fsevents': { version: '2.3.3', optional: true },
  },
};

describe('the npm packages', () => {
  it('are all missing where nothing is installed, but for optional ones', () => {
    expect(missingPackages(wanted, undefined)).toEqual(['node_modules/@tally/streams', 'node_modules/level', 'node_modules/vite']);
  });

  it('are complete when each has the locked version', () => {
    const installed = {
      packages: {
        'node_modules/@tally/streams': { link: true },
        'node_modules/level': { version: '10.0.0' },
        'node_modules/vite': { version: '8.0.0' },
      },
    };
    expect(missingPackages(wanted, installed)).toEqual([]);
  });

  it('are missing when the lock file asks for another version', () => {
    const installed = {
      packages: {
        'node_modules/@tally/streams': { link: true },
        'node_modules/level': { version: '9.0.0' },
        'node_modules/vite': { version: '8.0.0' },
      },
    };
    expect(missingPackages(wanted, installed)).toEqual(['node_modules/level']);
  });
});
