// @ts-check
/**
 * Brings a bare clone into a state in which everything runs, and explains what it cannot supply itself. Only what comes with Node is used here, since
 * nothing else is installed yet. Done again it takes a moment.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkNode } from './setup/node-version.mjs';
import { withLock } from './setup/lock.mjs';
import { prepareNativePackages } from './setup/native-client.mjs';
import { installPackages } from './setup/packages.mjs';
import { cloneState, root } from './support/paths.mjs';
import { isMain, runMain } from './support/main.mjs';
import { PlainError, say } from './support/report.mjs';

/** Node's packages and the native libraries are ready when this returns. */
export async function setUp() {
  checkNode();
  if (process.platform === 'win32')
    throw new PlainError('Windows is not supported directly: use its Linux subsystem (wsl --install), and clone inside of it.');
  if (!existsSync(join(root, 'package-lock.json'))) throw new PlainError(`${root} is not a complete clone: package-lock.json is missing.`);
  await withLock(join(cloneState, 'setup.lock'), async () => {
    await installPackages();
    await prepareNativePackages();
  });
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    await setUp();
    say('Everything is set up.');
  });
}
