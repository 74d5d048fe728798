/** A service as a user would start it, for tests that send signals to its process. Prints what happens, one word a line. */
import { Controller, Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { bootstrapStreams, Ctx, Payload, Store, type StreamContext, StreamHandler, StreamsModule } from '@tally/nestjs';
import { type KeyValueStore, int64, keyValueStore, string, topic } from '@tally/streams';

const environment = (name: string): string => process.env[name] ?? '';
const say = (word: string): boolean => process.stdout.write(`${word}\n`);

const input = topic(environment('INPUT'), { key: string(), value: string() });
const output = topic(environment('OUTPUT'), { key: string(), value: int64() });
const counts = keyValueStore('counts', { key: string(), value: int64() });

/** What handlers use must outlive them. */
@Injectable()
class Pool implements OnModuleDestroy {
  private isOpen = true;

  async use(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (!this.isOpen) say('used-after-destroy');
  }

  onModuleDestroy(): void {
    this.isOpen = false;
    say('destroyed');
  }
}

@Controller()
class Counting {
  private said = false;
  constructor(private readonly pool: Pool) {}

  @StreamHandler(input, { stores: [counts] })
  async count(
    @Payload() _value: string,
    @Ctx() context: StreamContext<string>,
    @Store(counts) store: KeyValueStore<string, bigint>,
  ): Promise<void> {
    const count = (store.get(context.key) ?? 0n) + 1n;
    store.put(context.key, count);
    await this.pool.use();
    context.send(output, context.key, count);
    if (!this.said && count === 50n) this.said = say('counting');
  }
}

@Module({
  imports: [
    StreamsModule.forRoot({
      applicationId: environment('APPLICATION_ID'),
      brokers: environment('KAFKA_BROKERS'),
      stateDirectory: environment('STATE_DIRECTORY'),
      hooks: { workerPhase: (phase) => void say(phase) },
    }),
  ],
  controllers: [Counting],
  providers: [Pool],
})
class ServiceModule {}

const app = await bootstrapStreams(ServiceModule, { port: 0, host: '127.0.0.1', nest: { logger: ['error', 'warn'] } });
if (app !== undefined) say(`url ${await app.getUrl()}`);
