// @ts-check
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from '../support/command.mjs';
import { root } from '../support/paths.mjs';
import { MissingError, say } from '../support/report.mjs';
import { installDirectory, userCache } from '../support/user-cache.mjs';
import { nativeKey } from './host.mjs';
import { whyNotLoadable } from './native-library.mjs';
import { downloadPrebuilt } from './prebuilt.mjs';
import { buildFromSource } from './source-build.mjs';

const client = '@confluentinc/kafka-javascript';
const database = 'classic-level';

/**
 * Makes the two native packages loadable. Order for the Kafka client: what is there, what an earlier set-up of this user built, the package's own
 * download, the compiler.
 */
export async function prepareNativePackages(directory = root) {
  const mark = join(directory, 'node_modules', '.tally-native.json');
  if (isMarked(mark, directory)) return;
  if ((await whyNotLoadable(client, directory)) !== undefined) await provideClient(directory);
  await checkDatabase(directory);
  writeFileSync(mark, stateOf(directory));
}

/** @param {string} directory */
async function provideClient(directory) {
  const home = join(directory, 'node_modules', client);
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  const kept = join(userCache(), 'native-client', nativeKey(version));
  if (existsSync(kept)) {
    rmSync(join(home, 'build'), { recursive: true, force: true });
    cpSync(kept, join(home, 'build'), { recursive: true, verbatimSymlinks: true });
    if ((await whyNotLoadable(client, directory)) === undefined) {
      say(`Reusing the Kafka client kept in ${kept}`);
      return;
    }
    rmSync(join(home, 'build'), { recursive: true, force: true });
  }
  if (!(await downloadPrebuilt(client, directory)) || (await whyNotLoadable(client, directory)) !== undefined)
    await buildFromSource(client, directory);
  const reason = await whyNotLoadable(client, directory);
  if (reason !== undefined) {
    throw new MissingError({
      what: `The Kafka client cannot be loaded: ${reason}`,
      why: 'It was installed, and still Node refuses it: a library of the operating system does not fit.',
      command: `ldd ${join(home, 'build', 'Release', '*.node')}      (names the library that is not found)`,
    });
  }
  await keep(join(home, 'build'), kept);
}

/**
 * Copies only what is loaded: the build folder also holds 60 MB of intermediate files.
 *
 * @param {string} build
 * @param {string} kept
 */
export async function keep(build, kept) {
  try {
    await installDirectory(kept, (draft) => {
      for (const folder of ['Release', 'deps']) {
        if (!existsSync(join(build, folder))) continue;
        for (const file of readdirSync(join(build, folder))) {
          if (!/\.node$|\.so(\.\d+)*$|\.dylib$/.test(file)) continue;
          mkdirSync(join(draft, folder), { recursive: true });
          cpSync(join(build, folder, file), join(draft, folder, file), { verbatimSymlinks: true });
        }
      }
    });
    say(`Kept the Kafka client in ${kept} for the next clone`);
  } catch (error) {
    // The cache only saves time: a home directory that cannot be written to is no reason to stop.
    say(`The Kafka client could not be kept in ${dirname(kept)}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** @param {string} directory */
async function checkDatabase(directory) {
  if ((await whyNotLoadable(database, directory)) === undefined) return;
  await run('npm', ['rebuild', database], { cwd: directory, timeoutMs: 10 * 60_000 });
  const reason = await whyNotLoadable(database, directory);
  if (reason === undefined) return;
  throw new MissingError({
    what: `The state database (${database}) cannot be loaded: ${reason}`,
    why: 'Every worker keeps its state in it. The package ships libraries for common systems; this one needs a build.',
    command: `npm rebuild ${database} --build-from-source      (needs make, a C++ compiler and python3)`,
  });
}

/** @param {string} directory */
function stateOf(directory) {
  const parts = [process.versions.modules, process.platform, process.arch];
  for (const file of [join(client, 'build', 'Release', 'confluent-kafka-javascript.node'), join(database, 'package.json')]) {
    const found = statSync(join(directory, 'node_modules', file), { throwIfNoEntry: false });
    parts.push(found === undefined ? 'absent' : `${found.size}@${found.mtimeMs}`);
  }
  return JSON.stringify(parts);
}

/**
 * Whether both packages were loaded before and are still the same files: a load test costs a tenth of a second.
 *
 * @param {string} mark
 * @param {string} directory
 */
function isMarked(mark, directory) {
  try {
    return readFileSync(mark, 'utf8') === stateOf(directory);
  } catch {
    return false;
  }
}
