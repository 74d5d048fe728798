// @ts-check
// Runs a TypeScript module of this repository in a process of its own: node test/run-typescript.mjs FILE.
import { runnerImport } from 'vite';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Name the file to run.');
await runnerImport(file, {
  configFile: false,
  logLevel: 'error',
  resolve: { conditions: ['@tally/source', 'node'] },
  ssr: { resolve: { conditions: ['@tally/source', 'node'] }, noExternal: [/^@tally\//] },
});
