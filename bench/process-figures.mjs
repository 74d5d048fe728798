// @ts-check
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/**
 * @typedef {object} ProcessFigures
 * @property {number} cpuSeconds user and system time of all threads since the process began, those of its children included
 * @property {number} peakRssMb largest resident memory so far, in MiB; the sum of its own and of its children's
 */

/**
 * User and system time from `/proc/<pid>/stat`, in clock ticks. The command name may itself hold spaces and parentheses, so fields are counted from
 * the last closing one.
 * @param {string} stat
 */
export function cpuTicks(stat) {
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .trim()
    .split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  if (!Number.isFinite(ticks)) throw new Error('The process statistics hold no processor times.');
  return ticks;
}

/**
 * The high-water mark of resident memory from `/proc/<pid>/status`, in kibibytes.
 * @param {string} status
 */
export function peakRssKb(status) {
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(status);
  if (match === null) throw new Error('The process status holds no VmHWM: the process has ended.');
  return Number(match[1]);
}

let ticksPerSecond = 0;

/**
 * @param {number} pid of a process that is alive
 * @returns {ProcessFigures}
 */
export function readProcessFigures(pid) {
  ticksPerSecond ||= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  const figures = {
    cpuSeconds: cpuTicks(readFileSync(`/proc/${pid}/stat`, 'utf8')) / ticksPerSecond,
    peakRssMb: peakRssKb(readFileSync(`/proc/${pid}/status`, 'utf8')) / 1024,
  };
  for (const child of childrenOf(pid)) {
    const { cpuSeconds, peakRssMb } = readProcessFigures(child);
    figures.cpuSeconds += cpuSeconds;
    figures.peakRssMb += peakRssMb;
  }
  return figures;
}

/** @param {number} pid @returns {number[]} */
function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
