/** The README's examples are tests of their own: what is shown there is what runs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const libraries = join(import.meta.dirname, '..', '..', '..');
const examples = [
  'testing/src/driver/readme-example.spec.ts',
  'nestjs/src/test-driver.spec.ts',
  'testing/src/simulator/service/readme-example.spec.ts',
];

it.each(examples.map((file, index) => [file, index] as const))('shows %s', (file, index) => {
  const readme = readFileSync(join(libraries, 'testing', 'README.md'), 'utf8');
  const [, shown] = [...readme.matchAll(/```ts\n([^]*?)```/g)][index] ?? [];
  expect(shown).toBe(readFileSync(join(libraries, file), 'utf8'));
});
