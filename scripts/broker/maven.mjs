// @ts-check
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../support/command.mjs';
import { PlainError, tail } from '../support/report.mjs';
import { kafkaArtifacts } from './kafka-version.mjs';

/**
 * Lets Maven copy the broker's jars into a directory; mirrors and credentials of the user's own settings apply.
 *
 * @param {string} directory
 * @param {readonly string[]} [extraArguments]
 */
export async function copyWithMaven(directory, extraArguments = []) {
  const project = mkdtempSync(join(tmpdir(), 'tally-maven-'));
  try {
    writeFileSync(join(project, 'pom.xml'), projectFile());
    const args = [
      '-B',
      '-q',
      'dependency:copy-dependencies',
      '-DincludeScope=runtime',
      `-DoutputDirectory=${directory}`,
      ...extraArguments,
    ];
    const { code, output } = await run('mvn', args, { cwd: project, timeoutMs: 10 * 60_000 });
    if (code !== 0) throw new PlainError(`Maven could not fetch the broker's jars:\n${tail(output, 15)}`);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

function projectFile() {
  const dependencies = kafkaArtifacts.map(
    ({ group, artifact, version }) =>
      `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
  );
  return `<project><modelVersion>4.0.0</modelVersion><groupId>tally</groupId><artifactId>broker</artifactId><version>1</version>
<dependencies>${dependencies.join('\n')}</dependencies></project>
`;
}
