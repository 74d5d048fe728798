import { type ErrorPlace, TallyError } from '@tally/streams';

export type TestDriverErrorCode =
  /** `start` has not been called, or the application that the driver was given to has not been started. */
  | 'DRIVER_NOT_STARTED'
  | 'DRIVER_CLOSED'
  /** One driver runs one worker. */
  | 'DRIVER_IN_USE'
  /** The topology does not read the topic. */
  | 'TOPIC_NOT_READ'
  | 'PARTITION_UNKNOWN'
  | 'STORE_UNKNOWN'
  /** A call waits longer than `callTimeoutMs`. */
  | 'NOT_SETTLED'
  /** A null was read with a handle whose serde takes none. */
  | 'NULL_UNEXPECTED';

/** The test driver was used wrongly. What fails in the topology is thrown as it is. */
export class TestDriverError extends TallyError {
  constructor(code: TestDriverErrorCode, message: string, place: ErrorPlace = {}) {
    super({ code, kind: 'invalid', message, place });
  }
}
