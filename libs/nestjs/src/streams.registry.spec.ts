import { Controller, type DynamicModule, Injectable, Scope, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, describe, expect, it } from 'vitest';
import { StreamHandler } from './decorators/index.js';
import { StreamsModule } from './index.js';
import { closeStarted, Ledger, Limits, options, payments, start, Totals } from './application-fixtures.suite.js';

afterEach(closeStarted);

describe('bootstrap refuses', () => {
  async function refusal(imports: DynamicModule[], rest: Parameters<typeof start>[1]): Promise<unknown> {
    const { app } = await start(imports, rest);
    return app.init().then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it('handlers without a transport', async () => {
    const error = await refusal([StreamsModule.forRoot(options)], { controllers: [Ledger] });
    expect(error).toMatchObject({ code: 'TRANSPORT_NOT_CONNECTED', message: expect.stringContaining("handler 'Ledger.apply'") as string });
  });

  it('topologies without a transport', async () => {
    const error = await refusal([StreamsModule.forRoot(options)], { providers: [Totals, Limits] });
    expect(error).toMatchObject({ code: 'TRANSPORT_NOT_CONNECTED', message: expect.stringContaining("topology 'totals'") as string });
  });

  it('but not an application that has neither', async () => {
    expect(await refusal([StreamsModule.forRoot(options)], {})).toBeUndefined();
  });

  @Controller({ scope: Scope.REQUEST })
  class PerRequest {
    @StreamHandler(payments) apply(): void {}
  }
  @Injectable({ scope: Scope.REQUEST })
  class RequestScoped {
    canActivate(): boolean {
      return true;
    }
  }
  @Controller()
  class DependsOnRequest {
    constructor(readonly dependency: RequestScoped) {}
    @StreamHandler(payments) apply(): void {}
  }
  @Controller()
  class GuardedPerRequest {
    @UseGuards(RequestScoped) @StreamHandler(payments) apply(): void {}
  }

  it.each([
    ['a request-scoped controller', { controllers: [PerRequest] }],
    ['a controller with a request-scoped dependency', { controllers: [DependsOnRequest], providers: [RequestScoped] }],
    ['a request-scoped guard of a method', { controllers: [GuardedPerRequest] }],
    ['a request-scoped global guard', { controllers: [Ledger], providers: [{ provide: APP_GUARD, useClass: RequestScoped }] }],
  ])('%s', async (_name, rest) => {
    const error = await refusal([StreamsModule.forRoot(options)], rest);
    expect(error).toMatchObject({ code: 'CONTROLLER_REQUEST_SCOPED', message: expect.stringContaining('request-scoped') as string });
  });

  it('a handler on a provider', async () => {
    @Injectable()
    class Misplaced {
      @StreamHandler(payments) apply(): void {}
    }
    const error = await refusal([StreamsModule.forRoot(options)], { providers: [Misplaced] });
    expect(error).toMatchObject({ code: 'HANDLER_NOT_ON_CONTROLLER', message: expect.stringContaining('Misplaced.apply') as string });
  });

  it('two handlers of one name', async () => {
    @Controller()
    class Twice {
      @StreamHandler(payments, { name: 'apply' }) first(): void {}
      @StreamHandler(payments, { name: 'apply' }) second(): void {}
    }
    expect(await refusal([StreamsModule.forRoot(options)], { controllers: [Twice] })).toMatchObject({ code: 'HANDLER_DUPLICATED' });
  });

  it('a handler of an application that is not declared', async () => {
    @Controller()
    class Stray {
      @StreamHandler(payments, { application: 'audit' }) apply(): void {}
    }
    const error = await refusal([StreamsModule.forRoot(options)], { controllers: [Stray] });
    expect(error).toMatchObject({ code: 'APPLICATION_UNKNOWN', message: expect.stringContaining("'audit'") as string });
  });

  it('two applications of one name', async () => {
    await expect(
      start([StreamsModule.forRoot(options), StreamsModule.forRoot({ ...options, applicationId: 'other' })]),
    ).rejects.toMatchObject({ code: 'APPLICATION_DUPLICATED' });
  });

  it('a transport that was connected without its application', async () => {
    const { app } = await start([StreamsModule.forRoot(options)], { controllers: [Ledger] });
    const { getStreamsTransportToken } = await import('./streams.constants.js');
    app.connectMicroservice({ strategy: app.get(getStreamsTransportToken()) });
    await app.init();
    await expect(app.startAllMicroservices()).rejects.toMatchObject({ code: 'TRANSPORT_NOT_ATTACHED' });
  });
});
