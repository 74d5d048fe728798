import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { StreamsHealthIndicator } from '@tally/nestjs';

/** For the probes of an orchestrator: 200, or 503 with the reason. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly streams: StreamsHealthIndicator,
  ) {}

  /** Fails until the worker has joined its group. */
  @Get('startup')
  @HealthCheck()
  startup(): Promise<HealthCheckResult> {
    return this.health.check([() => this.streams.isStarted('streams')]);
  }

  /** Fails when the process should be restarted. */
  @Get('live')
  @HealthCheck()
  live(): Promise<HealthCheckResult> {
    return this.health.check([() => this.streams.isLive('streams')]);
  }

  /** Fails while state is restored, with its progress. */
  @Get('ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check([() => this.streams.isReady('streams')]);
  }
}
