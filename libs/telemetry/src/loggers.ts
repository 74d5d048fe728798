/** Other loggers as Tally's. */
import type { Logger } from '@tally/streams';

type Write = (fields: object, message: string) => void;

/** The part of pino that is used; loggers of the same form will do too. */
export interface PinoLike {
  debug: Write;
  info: Write;
  warn: Write;
  error: Write;
}

/**
 * Tally's lines on a pino logger, their fields as pino's.
 * @example StreamsModule.forRoot({ logger: pinoLogger(pino()), ... })
 */
export function pinoLogger(pino: PinoLike): Logger {
  return {
    debug: (message, fields = {}) => pino.debug(fields, message),
    info: (message, fields = {}) => pino.info(fields, message),
    warn: (message, fields = {}) => pino.warn(fields, message),
    error: (message, fields = {}) => pino.error(fields, message),
  };
}
