// @ts-check

/**
 * Something that the machine lacks. The three sentences answer what a reader asks: what is missing, what it is needed for, and what to type.
 */
export class MissingError extends Error {
  /**
   * @param {{what: string, why: string, command: string, detail?: string | undefined}} missing `detail` is the output of what failed
   */
  constructor({ what, why, command, detail }) {
    super(`${what}\n  why:     ${why}\n  command: ${command.split('\n').join('\n           ')}${detail ? `\n\n${indent(detail)}` : ''}`);
    this.name = 'MissingError';
    this.what = what;
    this.why = why;
    this.command = command;
  }
}

/**
 * The last lines of a text, which is where tools say why they failed.
 *
 * @param {string} text
 * @param {number} lines
 */
export function tail(text, lines = 30) {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/** @param {string} text */
export function indent(text) {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}

/** @param {number} milliseconds */
export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/**
 * Writes progress to the standard error, so that the standard output holds results only.
 *
 * @param {string} line
 */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * Runs something that takes long: says when it starts, every 15 seconds that it goes on, and when it ended.
 *
 * @template T
 * @param {string} label what is done, as a phrase that can be followed by a duration
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(label, work) {
  const started = Date.now();
  say(`${label} ...`);
  const heartbeat = setInterval(() => say(`${label}: still at it after ${seconds(Date.now() - started)}`), 15_000);
  try {
    const result = await work();
    say(`${label}: done in ${seconds(Date.now() - started)}`);
    return result;
  } finally {
    clearInterval(heartbeat);
  }
}

/** An error whose message is the whole story: a wrong argument, an unreachable broker. */
export class PlainError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'PlainError';
  }
}
