/** The examples of docs/dsl are tests of their own: what a page shows is what runs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const examples = join(import.meta.dirname, 'examples');
const pages = join(import.meta.dirname, '../../../../docs/dsl');

it.each(readdirSync(examples))('the page shows %s', (file) => {
  const page = readFileSync(join(pages, file.replace('.spec.ts', '.md')), 'utf8');
  const shown = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
  expect(shown).toContain(readFileSync(join(examples, file), 'utf8'));
});
