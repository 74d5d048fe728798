// @ts-check
import { PlainError } from '../scripts/support/report.mjs';
import { familyNames } from './families.mjs';

/** The command line of the benchmark, as validated data. */

/** @typedef {'throughput' | 'latency' | 'restore' | 'telemetry' | 'operators' | 'testkit'} Mode */
/** @typedef {'tally' | 'tallyOneProcess' | 'tallyHandler' | 'kafkaStreams' | 'kafkaStreamsTransactional' | 'rawClient'} ContenderName */
/**
 * @typedef {object} BenchOptions
 * @property {Mode} mode
 * @property {string | undefined} json file that takes the figures
 * @property {number} records
 * @property {number} keys
 * @property {number} repeat
 * @property {number} seed
 * @property {number} commitMs
 * @property {number} rate records per second of the open-loop load
 * @property {number} seconds duration of the open-loop load
 * @property {string} allocator `auto`, `none` or a library's path
 * @property {boolean} smoke checks that all runs and agrees, without looking at figures
 * @property {string | undefined} profile directory that takes CPU profiles of the Node programs
 * @property {readonly ContenderName[]} only
 * @property {readonly string[]} families of operators
 */

/** @type {readonly ContenderName[]} */
export const contenderNames = ['tally', 'tallyOneProcess', 'tallyHandler', 'kafkaStreams', 'kafkaStreamsTransactional', 'rawClient'];

/** @type {Readonly<Record<Mode, readonly ContenderName[]>>} */
const contendersOf = {
  throughput: contenderNames,
  latency: ['tally', 'kafkaStreams'],
  restore: ['tally', 'kafkaStreams'],
  telemetry: ['tally'],
  operators: ['tally', 'kafkaStreams'],
  testkit: [],
};

/** The measurements that need a broker. */
export const needsBroker = (/** @type {Mode} */ mode) => mode !== 'testkit';

export const usage = `npm run bench -- throughput|latency|restore|telemetry|operators|testkit [options]

  throughput   records/s, CPU and memory of Tally, Kafka Streams and the raw client on the same input
  latency      record timestamp to read_committed visibility under an open-loop load
  restore      kill -9 to running, with a long changelog behind the state
  telemetry    throughput with metrics and 1% of the traces exported, against none of it
  operators    records/s of each family of operators, in the test driver, on the broker and in Kafka Streams
  testkit      what the test kit does in memory, without a broker

  --json FILE        write the figures to FILE
  --records N        payments of the input (throughput, restore, telemetry: default 2000000; operators: 1000000; testkit: 300000)
  --keys N           accounts that they go to (default 100000; testkit: default 10000)
  --repeat N         run all contenders N times in turn and take medians (default 1; telemetry: 3)
  --only A,B         ${contenderNames.join(', ')}
  --families A,B     ${familyNames.join(', ')} (default all)
  --seed N           seed of the input (default 42)
  --commit-ms N      commit interval (default 100)
  --rate N           records/s of the open-loop load (latency, restore; default 5000)
  --seconds N        duration of the open-loop load (latency; default 30)
  --allocator WHICH  auto (jemalloc or mimalloc where found), none, or a library's path
  --profile DIR      write a CPU profile of each measured Node program to DIR (its figures are then slower)
  --smoke            small and quick: checks that all runs and that the sums agree
`;

/** @typedef {'records' | 'keys' | 'repeat' | 'seed' | 'commitMs' | 'rate' | 'seconds'} NumberField */
/** @typedef {'json' | 'allocator' | 'only' | 'families' | 'profile'} TextField */

/** @type {ReadonlyMap<string, { field: NumberField, least: number }>} */
const numberOptions = new Map([
  ['--records', { field: 'records', least: 1 }],
  ['--keys', { field: 'keys', least: 1 }],
  ['--repeat', { field: 'repeat', least: 1 }],
  ['--seed', { field: 'seed', least: 0 }],
  ['--commit-ms', { field: 'commitMs', least: 1 }],
  ['--rate', { field: 'rate', least: 1 }],
  ['--seconds', { field: 'seconds', least: 1 }],
]);

/** @type {ReadonlyMap<string, TextField>} */
const textOptions = new Map([
  ['--json', 'json'],
  ['--allocator', 'allocator'],
  ['--only', 'only'],
  ['--families', 'families'],
  ['--profile', 'profile'],
]);

/**
 * @param {readonly string[]} argv without the interpreter and the script
 * @returns {BenchOptions}
 * @throws {PlainError} naming the option that does not fit
 */
export function parseArguments(argv) {
  const [mode, ...rest] = argv;
  if (!isMode(mode)) {
    const problem = mode === undefined ? 'Say what to measure' : `"${mode}" cannot be measured`;
    throw new PlainError(`${problem}: throughput, latency, restore, telemetry, operators or testkit.`);
  }
  const { numbers, texts, smoke } = readOptions(rest);
  const usual = usualOf[mode];
  return {
    mode,
    json: texts.json,
    records: numbers.records ?? (smoke ? 20_000 : usual.records),
    keys: numbers.keys ?? (smoke ? 1_000 : usual.keys),
    repeat: numbers.repeat ?? (smoke ? 1 : usual.repeat),
    seed: numbers.seed ?? 42,
    commitMs: numbers.commitMs ?? 100,
    rate: numbers.rate ?? (smoke ? 1_000 : 5_000),
    seconds: numbers.seconds ?? (smoke ? 5 : 30),
    allocator: texts.allocator ?? 'auto',
    smoke,
    profile: texts.profile,
    only: selection('--only', contendersOf[mode], texts.only),
    families: selection('--families', familyNames, texts.families),
  };
}

/** @type {Readonly<Record<Mode, { records: number, keys: number, repeat: number }>>} */
const usualOf = {
  throughput: { records: 2_000_000, keys: 100_000, repeat: 1 },
  latency: { records: 2_000_000, keys: 100_000, repeat: 1 },
  restore: { records: 2_000_000, keys: 100_000, repeat: 1 },
  telemetry: { records: 2_000_000, keys: 100_000, repeat: 3 },
  operators: { records: 1_000_000, keys: 100_000, repeat: 1 },
  testkit: { records: 300_000, keys: 10_000, repeat: 1 },
};

/** @param {string | undefined} word @returns {word is Mode} */
function isMode(word) {
  return word !== undefined && Object.hasOwn(usualOf, word);
}

/** @param {readonly string[]} words */
function readOptions(words) {
  /** @type {Partial<Record<NumberField, number>>} */
  const numbers = {};
  /** @type {Partial<Record<TextField, string>>} */
  const texts = {};
  let smoke = false;
  for (let at = 0; at < words.length; at++) {
    const [option, attached] = splitOnce(words[at] ?? '');
    if (option === '--smoke') {
      smoke = true;
      continue;
    }
    const numeric = numberOptions.get(option);
    const textual = textOptions.get(option);
    if (numeric === undefined && textual === undefined) throw new PlainError(`The benchmark does not know the option "${option}".`);
    const value = attached ?? words[++at];
    if (value === undefined || value === '' || value.startsWith('--')) throw new PlainError(`The option ${option} needs a value.`);
    if (numeric !== undefined) numbers[numeric.field] = wholeNumber(option, value, numeric.least);
    if (textual !== undefined) texts[textual] = value;
  }
  return { numbers, texts, smoke };
}

/** @param {string} word @returns {[string, string | undefined]} */
function splitOnce(word) {
  const at = word.indexOf('=');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** @param {string} option @param {string} value @param {number} least */
function wholeNumber(option, value, least) {
  const number = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(number) || number < least) {
    throw new PlainError(`The option ${option} takes a whole number from ${least} on, not "${value}".`);
  }
  return number;
}

/**
 * @template {string} Name
 * @param {string} option @param {readonly Name[]} possible @param {string | undefined} list
 * @returns {readonly Name[]}
 */
function selection(option, possible, list) {
  if (list === undefined) return possible;
  if (possible.length === 0) throw new PlainError(`${option}: there is nothing to choose from in this measurement.`);
  const wanted = list.split(',').filter((name) => name !== '');
  for (const name of wanted) {
    if (!possible.some((known) => known === name))
      throw new PlainError(`${option}: "${name}" is not measured here; there are ${possible.join(', ')}.`);
  }
  if (wanted.length === 0) throw new PlainError(`${option} names nothing.`);
  return possible.filter((name) => wanted.includes(name));
}
