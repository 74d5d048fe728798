/** Looks at what a worker that is gone left on its disk. */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Level } from 'level';

/**
 * Changelog offsets up to which the task databases hold everything, by partition. Reads copies, so that what is there stays as it was
 * left; of a worker that was the only one on its disk.
 */
export async function flushedPositions(stateDirectory: string, applicationId: string, store: string): Promise<ReadonlyMap<number, number>> {
  const positions = new Map<number, number>();
  const tasks = join(stateDirectory, applicationId, '0', 'tasks');
  if (!existsSync(tasks)) return positions;
  const copies = mkdtempSync(join(tmpdir(), 'tally-disk-'));
  try {
    for (const name of readdirSync(tasks)) {
      const partition = Number(/%2f(\d+)$/.exec(name)?.[1]);
      cpSync(join(tasks, name), join(copies, name), { recursive: true });
      const database = new Level<Buffer, Buffer>(join(copies, name), { keyEncoding: 'buffer', valueEncoding: 'buffer' });
      const position = await database.get(Buffer.from(`\u0000\u0003${store}`));
      await database.close();
      if (position !== undefined) positions.set(partition, Number(position.readBigInt64BE(0)));
    }
  } finally {
    rmSync(copies, { recursive: true, force: true });
  }
  return positions;
}
