// @ts-check
/**
 * `npm run conformance -- [--json FILE] FILE...` compares Tally with Kafka Streams, scenario by scenario; `--generate SEED COUNT` does so with
 * random ones. The scenarios are interpreted by test code on the sources as they are: nothing has to be built.
 */
import { join } from 'node:path';
import { setUp } from './setup.mjs';
import { runMain } from './support/main.mjs';
import { root } from './support/paths.mjs';

await runMain(async () => {
  await setUp();
  const { runnerImport } = await import('vite');
  const conditions = ['@tally/source', 'node'];
  /** @type {{module: {main: (given: readonly string[]) => Promise<number>}}} */
  const { module } = await runnerImport(join(root, 'test/conformance/main.ts'), {
    configFile: false,
    logLevel: 'error',
    environments: { inline: { resolve: { conditions, external: [], noExternal: [/^@tally\//] } } },
  });
  return module.main(process.argv.slice(2));
});
