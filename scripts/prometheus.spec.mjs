// @ts-check
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { findPrometheus, withoutPrometheus } from './prometheus.mjs';

const found = findPrometheus();

describe.skipIf(found === undefined)(`Prometheus${found === undefined ? ` (${withoutPrometheus})` : ''}`, () => {
  it('runs where it was found', () => {
    for (const program of [found?.prometheus, found?.promtool])
      expect(execFileSync(program ?? '', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })).toContain('version');
  });
});
