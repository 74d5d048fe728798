// @ts-check
/** Programs of the benchmark take `name=value` words, in Java as in Node. */

/**
 * @typedef {object} ServiceArguments
 * @property {string} brokers
 * @property {string} application group id, prefix of internal topics and transactional ids
 * @property {string} input
 * @property {string} output
 * @property {string} stateDirectory
 * @property {number} commitMs
 * @property {number} partitions of the input topic
 * @property {boolean} fetchProcess whether Tally fetches in a process of its own
 */

/**
 * @param {readonly string[]} words
 * @returns {(name: string) => string} throws on a name that was not given
 */
export function wordReader(words) {
  const values = new Map(
    words.map((word) => /** @type {[string, string]} */ ([word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)])),
  );
  return (name) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`The argument ${name}=... is missing.`);
    return value;
  };
}

/**
 * @param {readonly string[]} words
 * @returns {ServiceArguments}
 */
export function serviceArguments(words) {
  const read = wordReader(words);
  return {
    brokers: read('brokers'),
    application: read('application'),
    input: read('input'),
    output: read('output'),
    stateDirectory: read('stateDirectory'),
    commitMs: Number(read('commitMs')),
    partitions: Number(read('partitions')),
    fetchProcess: read('fetchProcess') === 'true',
  };
}
