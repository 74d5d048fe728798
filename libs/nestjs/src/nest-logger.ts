import { Logger as NestLogger } from '@nestjs/common';
import type { Logger } from '@tally/streams';

/** Tally's lines on Nest's logger, their fields as `name=value` behind the message. */
export function nestLogger(application: string): Logger {
  const logger = new NestLogger(application === 'default' ? 'Streams' : `Streams:${application}`);
  return {
    debug: (message, fields) => logger.debug(withFields(message, fields)),
    info: (message, fields) => logger.log(withFields(message, fields)),
    warn: (message, fields) => logger.warn(withFields(message, fields)),
    error: (message, fields) => logger.error(withFields(message, fields)),
  };
}

function withFields(message: string, fields: Readonly<Record<string, unknown>> = {}): string {
  const text = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'object' && value !== null ? JSON.stringify(value, plain) : String(value)}`,
  );
  return text.length === 0 ? message : `${message} (${text.join(', ')})`;
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return value instanceof Error ? value.message : value;
}
