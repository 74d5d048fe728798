// @ts-check
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerOn } from './answering.fixture.mjs';
import { DockerBroker, dockerAnswers } from './docker-broker.mjs';
import { freePorts } from './ports.mjs';

let directory = '';
/** @type {() => void} */
let close = () => {};
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-docker-'));
  vi.stubEnv('PATH', `${directory}:${process.env['PATH']}`);
});
afterEach(() => {
  close();
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

/** @param {string} script */
function fakeDocker(script) {
  writeFileSync(join(directory, 'docker'), `#!/bin/sh\necho "$@" >> ${join(directory, 'calls')}\n${script}\n`);
  chmodSync(join(directory, 'docker'), 0o755);
}

const calls = () => readFileSync(join(directory, 'calls'), 'utf8').trim().split('\n');

describe('a broker in a container', () => {
  it('is chosen only when an engine answers', async () => {
    fakeDocker('echo 28.2.2');
    expect(await dockerAnswers()).toBe(true);
    fakeDocker('echo "Cannot connect to the Docker daemon" >&2; exit 1');
    expect(await dockerAnswers()).toBe(false);
  });

  it('is created once, started again after a kill, and removed', async () => {
    fakeDocker('[ "$1" != inspect ] || echo true');
    const [broker = 0, controller = 0] = await freePorts(2);
    close = await answerOn(broker);
    const container = new DockerBroker({ name: 'tally-broker-test', ports: [broker, controller], detached: false });
    await container.start();
    await container.kill();
    await container.start();
    await container.stop();
    await container.remove();
    const [inspect, create, ...others] = calls();
    expect(inspect).toBe('image inspect apache/kafka:4.4.0');
    expect(create).toMatch(
      new RegExp(
        `^run -d --name tally-broker-test --label tally.broker -p 127.0.0.1:${broker}:${broker} -e KAFKA_PROCESS_ROLES=broker,controller .* apache/kafka:4.4.0$`,
      ),
    );
    expect(create).toContain(`KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:${broker},CONTROLLER://127.0.0.1:${controller}`);
    expect(create).toContain('KAFKA_GROUP_CONSUMER_SESSION_TIMEOUT_MS=6000');
    expect(others).toEqual([
      'kill tally-broker-test',
      'start tally-broker-test',
      'stop --time 20 tally-broker-test',
      'rm --force --volumes tally-broker-test',
    ]);
  });

  it('shows the log of a container that ends, and removes it', async () => {
    fakeDocker('case "$1" in inspect) echo false;; logs) echo "java.lang.OutOfMemoryError";; esac');
    const [broker = 0, controller = 0] = await freePorts(2);
    const container = new DockerBroker({ name: 'tally-broker-test', ports: [broker, controller], detached: false });
    await expect(container.start()).rejects.toThrow(/did not start: the container ended\.[^]*OutOfMemoryError/);
    expect(calls().at(-1)).toBe('rm --force --volumes tally-broker-test');
  });
});
