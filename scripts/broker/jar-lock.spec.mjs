// @ts-check
import { createServer } from 'node:http';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { downloadJars } from './jar-download.mjs';
import { faultsOf, fileName, parseJarLock, readJarLock, repositoryPath, sha256 } from './jar-lock.mjs';
import { kafkaVersion } from './kafka-version.mjs';

const jar = { group: 'org.example.deep', artifact: 'thing_2.13', version: '1.0', sha256: sha256('content') };

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tally-jars-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/**
 * @param {(path: string) => {status: number, body: string}} answer
 * @param {(url: string) => Promise<void>} use
 */
async function withServer(answer, use) {
  const server = createServer((request, response) => {
    const { status, body } = answer(request.url ?? '');
    response.writeHead(status).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  try {
    await use(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/repository/`);
  } finally {
    server.close();
  }
}

describe('the lock file of the jars', () => {
  it('names the broker and all that it loads', () => {
    const jars = readJarLock();
    expect(jars.length).toBeGreaterThan(40);
    expect(jars.find(({ artifact }) => artifact === 'kafka_2.13')?.version).toBe(kafkaVersion);
    expect(new Set(jars.map(fileName)).size).toBe(jars.length);
  });

  it('is refused when it is incomplete', () => {
    expect(() => parseJarLock('{}')).toThrow('names no jars');
    expect(() => parseJarLock(JSON.stringify({ jars: [{ ...jar, sha256: 'abc' }] }))).toThrow(
      'no SHA-256 checksum for org.example.deep:thing_2.13:1.0',
    );
    expect(() => parseJarLock(JSON.stringify({ jars: [{ ...jar, version: '../../etc' }] }))).toThrow('bad name');
  });

  it('tells where a jar lies in a repository', () => {
    expect(repositoryPath(jar)).toBe('org/example/deep/thing_2.13/1.0/thing_2.13-1.0.jar');
  });

  it('finds a jar that is missing or another one', () => {
    const other = { ...jar, artifact: 'other' };
    writeFileSync(join(directory, fileName(jar)), 'content');
    expect(faultsOf(directory, [jar, other])).toEqual(['other-1.0.jar is missing.']);
    writeFileSync(join(directory, fileName(other)), 'forged');
    expect(faultsOf(directory, [jar, other])).toEqual([
      `other-1.0.jar has the checksum ${sha256('forged')}; the lock file says ${jar.sha256}.`,
    ]);
  });
});

describe('the download of the jars', () => {
  it('fetches each from its place', async () => {
    /** @type {string[]} */
    const asked = [];
    const answer = (/** @type {string} */ path) => {
      asked.push(path);
      return { status: 200, body: 'content' };
    };
    await withServer(answer, (url) => downloadJars(url, [jar], directory));
    expect(asked).toEqual(['/repository/org/example/deep/thing_2.13/1.0/thing_2.13-1.0.jar']);
    expect(readFileSync(join(directory, fileName(jar)), 'utf8')).toBe('content');
  });

  it('refuses a jar with another checksum', async () => {
    await withServer(
      () => ({ status: 200, body: 'forged' }),
      async (url) => {
        await expect(downloadJars(url, [jar], directory)).rejects.toThrow(/thing_2\.13-1\.0\.jar has the checksum .* It is not used\./);
      },
    );
    expect(readdirSync(directory)).toEqual([]);
  });

  it('asks again, and then says what the server answered', async () => {
    let asked = 0;
    const answer = () => {
      asked++;
      return { status: 503, body: '' };
    };
    await withServer(answer, async (url) => {
      await expect(downloadJars(url, [jar], directory)).rejects.toThrow('could not be downloaded: the server answered 503');
    });
    expect(asked).toBe(3);
  });
});
