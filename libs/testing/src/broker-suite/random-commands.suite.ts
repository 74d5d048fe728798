/**
 * Random sequences of commands, run on a real broker and on the simulated one: where their answers differ, the simulated one is wrong.
 *
 * A sequence has 5 to 25 commands over the whole broker port: transactional producers (in any order of calls, two calls at once, a second
 * producer with the same transactional id, transactions that outlive their timeout), producers without transactions, members of a group
 * that join, leave, subscribe otherwise, consume, pause, seek and commit offsets inside and outside of transactions, readers of both
 * isolations, and the admin side: offsets, stable offsets, topics that are made, grown, removed and made again, deleted records. Records
 * have null, empty, binary and long keys and values, headers, odd timestamps, or are wrong in one of eight ways.
 *
 * Compared are, for each command, what it resolved with or how it failed: kind and code of the error, or that a rule of the port was
 * broken. Offsets are counted from where the sequence found its partitions. Records are compared whole: offset, key, value, timestamp,
 * headers. In the end all producers and members are closed, and all that is there then is compared once more. A difference is reported with
 * its seed and the shortest sequence that still shows it.
 *
 * On purpose not compared:
 * - how long anything takes, and into how many batches it falls: a command waits until what it began has come to rest, and a call that is
 *   answered "later" (`retriable`) is made again;
 * - which member gets which partitions: the range assignor goes by member ids; members are told apart by what they hold;
 * - codes of fenced producers: they tell which request learned of it first;
 * - texts of errors, ids of topics, members and transactions (only whether they are equal);
 * - members that fall silent, brokers that are away, compaction and retention: real ones take seconds to minutes. The conformance suite and
 *   the suites over a real broker have them.
 *
 * Each difference that was found has become a scenario of the conformance suite.
 */
export type { Answer } from './random/answers.suite.js';
export { compareAnswers, type Comparison, type Ground } from './random/compare.suite.js';
export type { Sequence } from './random/commands.suite.js';
export { execute } from './random/execute.suite.js';
export { runOnSimulated, type SimulatedGround } from './random/simulated.suite.js';
export { type Playground, topicSettings } from './random/world.suite.js';
