// @ts-check
import { join } from 'node:path';
import { run } from '../scripts/support/command.mjs';
import { root, tool } from '../scripts/support/paths.mjs';
import { PlainError, tail } from '../scripts/support/report.mjs';

/** Where the compiled services are. */
export const builtServices = join(root, 'dist', 'bench', 'services');

/** Compiles the Tally services against the built libraries; quick when nothing has changed. */
export async function buildServices() {
  const { code, output } = await run(
    process.execPath,
    [tool('typescript/bin/tsc'), '-p', join(import.meta.dirname, 'services', 'tsconfig.app.json')],
    {
      cwd: root,
    },
  );
  if (code !== 0)
    throw new PlainError(`The services of the benchmark do not compile (are the libraries built? npm run build):\n${tail(output)}`);
}
