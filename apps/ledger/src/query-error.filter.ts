import { type ArgumentsHost, Catch, HttpException, HttpStatus } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { TallyError } from '@tally/streams';

const statusByCode: Readonly<Record<string, HttpStatus>> = {
  STORE_NOT_LOCAL: HttpStatus.MISDIRECTED,
  STORE_RESTORING: HttpStatus.SERVICE_UNAVAILABLE,
  WORKER_NOT_RUNNING: HttpStatus.SERVICE_UNAVAILABLE,
};

/** Tells who asks whether another instance has the answer (421) or this one will have it soon (503). */
@Catch(TallyError)
export class QueryErrorFilter extends BaseExceptionFilter<TallyError> {
  override catch(error: TallyError, host: ArgumentsHost): void {
    const status = statusByCode[error.code];
    super.catch(
      status === undefined ? error : (new HttpException({ code: error.code, message: error.message }, status) as unknown as TallyError),
      host,
    );
  }
}
