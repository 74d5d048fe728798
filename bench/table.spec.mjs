import { expect, it } from 'vitest';
import { grouped, table } from './table.mjs';

it('puts names to the left and figures to the right', () => {
  expect(
    table(
      ['', 'records/s'],
      [
        ['Tally', '90,000'],
        ['raw client', '200,000'],
      ],
    ),
  ).toBe(['            records/s', '----------  ---------', 'Tally          90,000', 'raw client    200,000'].join('\n'));
});

it('groups thousands and rounds', () => {
  expect(grouped(1234567.6)).toBe('1,234,568');
});
