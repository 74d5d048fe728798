/** Runs a writer in a process of its own and kills it in the middle: the only honest test of what a crash leaves on the disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll } from 'vitest';

/** For tests that start several such processes: starting Node takes most of the time, and more where other tests share the processor. */
export const childTimeoutMs = 60_000;

const sources = fileURLToPath(new URL('..', import.meta.url));

/** What stands before the state in the order of imports, and the state itself. */
const usedFolders = new Set(['core', 'serde', 'topology', 'state']);

let work: string | undefined;

afterAll(() => {
  if (work !== undefined) rmSync(work, { recursive: true, force: true });
});

/** Plain Node cannot run these sources: each is stripped of its types into a directory from which `level` resolves as it does here. */
function transpiledSources(): string {
  const target = mkdtempSync(join(tmpdir(), 'tally-child-'));
  for (const file of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
    const folder = file.split(sep)[0] ?? '';
    if (!usedFolders.has(folder) || !file.endsWith('.ts') || file.endsWith('.spec.ts') || file.endsWith('.suite.ts')) continue;
    const { outputText } = ts.transpileModule(readFileSync(join(sources, file), 'utf8'), {
      compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
    });
    mkdirSync(dirname(join(target, file)), { recursive: true });
    writeFileSync(join(target, file.replace(/\.ts$/, '.js')), outputText);
  }
  writeFileSync(join(target, 'package.json'), '{ "type": "module" }');
  const levelPackage = dirname(createRequire(import.meta.url).resolve('level/package.json'));
  symlinkSync(dirname(levelPackage), join(target, 'node_modules'), 'dir');
  return target;
}

/**
 * Runs the module, which imports from `./core` and `./state` and gets the directory as its argument, and prints an ever larger number
 * each time that a write was acknowledged. Kills it with SIGKILL right after it printed `killAt` or more.
 * @returns the last number that was printed.
 */
export async function killWhileWriting(directory: string, module: string, killAt: number): Promise<number> {
  work ??= transpiledSources();
  const script = join(work, 'writer.js');
  writeFileSync(script, module);
  const child = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  let acknowledged = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Number(line);
    if (acknowledged >= killAt) child.kill('SIGKILL');
  }
  const [, signal] = (await exited) as [number | null, string | null];
  if (signal !== 'SIGKILL') throw new Error(`The writer ended by itself after ${acknowledged}: ${complaint}`);
  return acknowledged;
}
