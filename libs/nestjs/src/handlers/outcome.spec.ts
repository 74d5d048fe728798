/** What becomes of a record's state and outputs: the outcome table, for every kind, scope and form of enhancer. */
import { UseFilters, UseGuards } from '@nestjs/common';
import { RecordClosedError } from '@tally/streams';
import { type Observable, throwError } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeScope } from './fixtures.suite.js';
import { Scripted, cellsOf, closeStarted, controller, failure, nothing, refusal, run, script, setup } from './outcome.suite.js';

afterEach(closeStarted);

describe('a refusal reaches the error policy', () => {
  it.each(cellsOf('guard', 'pipe', 'interceptor'))(
    '$kind at $scope as $form: same instance, no state of the handler',
    async ({ kind, scope, form }) => {
      script.enhancer = 'refuse';
      script.handler = () => 'done';
      const { outcome, scope: record } = await run(setup(kind, scope, form));
      expect(outcome.kind).toBe('failed');
      if (kind !== 'guard') expect((outcome as { error: unknown }).error).toBe(refusal);
      else expect((outcome as { error: Error }).error.message).toBe('Forbidden resource');
      expect(record.state.size).toBe(0);
      expect(record.sent.filter((line) => line.includes('handler'))).toEqual([]);
    },
  );

  it.each(cellsOf('filter'))(
    'a filter at $scope as $form that returns nothing has not handled the error',
    async ({ kind, scope, form }) => {
      script.enhancer = 'refuse';
      script.handler = () => {
        throw failure;
      };
      const { outcome, scope: record } = await run(setup(kind, scope, form));
      expect((outcome as { error: unknown }).error).toBe(failure);
      expect(record.state.size + record.sent.length).toBe(0);
    },
  );
});

describe('a filter that returns a value consumes the record', () => {
  const throwsNow = (): never => {
    throw failure;
  };
  const throwsLater = async (): Promise<never> => {
    await Promise.resolve();
    throw failure;
  };
  const errs = (): Observable<never> => throwError(() => failure);
  const failures = { throwsNow, throwsLater, errs };

  it.each(cellsOf('filter').flatMap((cell) => Object.keys(failures).map((how) => ({ ...cell, how: how as keyof typeof failures }))))(
    'at $scope as $form, handler $how: rolled back, only what the filter sends is kept',
    async ({ kind, scope, form, how }) => {
      script.enhancer = 'sendAndConsume';
      script.handler = failures[how];
      const { outcome, scope: record } = await run(setup(kind, scope, form));
      expect(outcome).toEqual({ kind: 'returned', value: 'consumed' });
      expect(record.state.size).toBe(0);
      expect(record.sent).toEqual(['audit filter consumed']);
      expect(record.rollbacks).toBeGreaterThan(0);
    },
  );

  it('also when a class-level guard denied', async () => {
    script.enhancer = 'consume';
    const { outcome, scope: record } = await run({ controllers: controller(UseGuards(Scripted), UseFilters(Scripted)) });
    expect(outcome).toEqual({ kind: 'returned', value: 'consumed' });
    expect(record.state.size + record.sent.length).toBe(0);
  });

  it('but not when the record was taken away: the closed scope is reported as it is', async () => {
    script.enhancer = 'consume';
    const scope = new FakeScope();
    script.handler = () => {
      scope.isClosed = true;
      throw failure;
    };
    const { outcome } = await run({ controllers: controller(nothing, UseFilters(Scripted)) }, scope);
    expect((outcome as { error: unknown }).error).toBe(failure);
  });

  it("and never sees the runtime's own signals", async () => {
    script.enhancer = 'consume';
    const closed = new RecordClosedError({}, 'test');
    script.handler = () => {
      throw closed;
    };
    const { outcome } = await run({ controllers: controller(nothing, UseFilters(Scripted)) });
    expect((outcome as { error: unknown }).error).toBe(closed);
  });
});
