// @ts-check
/**
 * A Kafka broker for development: `npm run broker -- start|stop|status`. Tests, the demo and the benchmark import `ensureBroker` and `startBroker`.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signalProcess } from './broker/java-broker.mjs';
import { answers } from './broker/readiness.mjs';
import { startBroker } from './broker/start-broker.mjs';
import { readState, removeState, writeState } from './broker/state-file.mjs';
import { run } from './support/command.mjs';
import { isMain, runMain } from './support/main.mjs';
import { cloneState } from './support/paths.mjs';
import { PlainError } from './support/report.mjs';
import { processIdentity } from './support/process-identity.mjs';

export { ensureBroker } from './broker/ensure-broker.mjs';
export { freePorts } from './broker/ports.mjs';
export { startBroker } from './broker/start-broker.mjs';

const stateFile = join(cloneState, 'broker.json');
const stopTimeoutMs = 30_000;

async function start() {
  const { state, stale } = readState(stateFile);
  if (state !== undefined) {
    console.log(`A broker runs already. To use it:\nexport KAFKA_BROKERS=${state.brokers}`);
    return 0;
  }
  if (stale !== undefined) clean(stale);
  const broker = await startBroker({ detached: true });
  writeState(stateFile, {
    brokers: broker.brokers,
    directory: broker.directory,
    startedAt: new Date().toISOString(),
    engine: broker.describe(),
  });
  console.log(`The broker runs until 'npm run broker -- stop'. To use it:\nexport KAFKA_BROKERS=${broker.brokers}`);
  return 0;
}

async function stop() {
  const { state, stale } = readState(stateFile);
  if (state === undefined) {
    if (stale !== undefined) clean(stale);
    console.log(stale === undefined ? 'No broker runs.' : 'No broker runs; what an earlier one left was removed.');
    return 0;
  }
  if (state.engine.kind === 'docker') await run('docker', ['rm', '--force', '--volumes', state.engine.container], { timeoutMs: 60_000 });
  else await end(state.engine.pid ?? 0);
  clean(state);
  console.log('The broker was stopped, and its data removed.');
  return 0;
}

/** @param {number} pid */
async function end(pid) {
  signalProcess(pid, 'SIGTERM');
  const deadline = Date.now() + stopTimeoutMs;
  while (processIdentity(pid) !== undefined) {
    if (Date.now() > deadline) signalProcess(pid, 'SIGKILL');
    await sleep(50);
  }
}

async function status() {
  const { state, stale } = readState(stateFile);
  if (state === undefined) {
    console.log(stale === undefined ? 'No broker runs.' : `No broker runs: the one of ${stale.startedAt} ended without being stopped.`);
    return 3;
  }
  const answer = await answers(state.brokers);
  const where =
    state.engine.kind === 'docker' ? `container ${state.engine.container}` : `process ${state.engine.pid}, log ${state.engine.logFile}`;
  console.log(
    `The broker ${answer ? 'answers' : 'does not answer'} at ${state.brokers} (since ${state.startedAt}; ${where}).\nexport KAFKA_BROKERS=${state.brokers}`,
  );
  return answer ? 0 : 1;
}

/** @param {import('./broker/state-file.mjs').BrokerState} state */
function clean(state) {
  rmSync(state.directory, { recursive: true, force: true });
  removeState(stateFile);
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const commands = { start, stop, status };
    const name = process.argv[2] ?? '';
    if (name !== 'start' && name !== 'stop' && name !== 'status') throw new PlainError('Usage: npm run broker -- start|stop|status');
    return commands[name]();
  });
}
