/** A global store as records and queries read it. */
import { TallyError } from '../core/errors.js';
import type { CommittedReader } from '../state/committed-reader.js';

type Rows = CommittedReader<unknown, unknown>;

/** Committed rows, one for each store and worker. */
export class GlobalReader implements Pick<Rows, 'get' | 'getWithTimestamp' | 'range' | 'all'> {
  private readonly rows: Rows;

  constructor(
    readonly name: string,
    reader: object,
    /** The database does not say what it should. @returns what the reading record fails with */
    private readonly damaged: (error: Error) => TallyError,
  ) {
    this.rows = reader as Rows;
  }

  get(key: unknown): unknown {
    return this.guarded(() => this.rows.get(key));
  }

  getWithTimestamp(key: unknown): ReturnType<Rows['getWithTimestamp']> {
    return this.guarded(() => this.rows.getWithTimestamp(key));
  }

  range(from?: unknown, to?: unknown): ReturnType<Rows['range']> {
    return this.rows.range(from, to);
  }

  all(): ReturnType<Rows['all']> {
    return this.rows.all();
  }

  private guarded<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw error instanceof TallyError && error.code === 'STATE_CORRUPT' ? this.damaged(error) : error;
    }
  }
}
