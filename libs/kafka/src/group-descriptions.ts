/**
 * Descriptions of groups, by an admin client of their own. A request to a coordinator that times out crashes the process when the
 * coordinator comes back (librdkafka then uses what it has freed). So it is sent only when the cluster answers, with a time-out far beyond
 * any outage that begins meanwhile, and given up here. The client works off its requests one after another; others would wait behind it.
 */
import { BrokerError, type GroupMember } from '@tally/streams';
import { ClientLog } from './client-log.js';
import { groupAdminProperties } from './client-properties.js';
import { classify, errorNumbers } from './errors.js';
import { CallsInFlight, nativeCall, settledWithin } from './native-call.js';
import { type Callback, loadNativeModule, type NativeAdmin, type NativeGroupDescription, type NativeLogEvent } from './native.js';
import type { ResolvedOptions } from './options.js';

const coordinatorTimeoutMs = 600_000;

export class GroupDescriptions {
  readonly #options: ResolvedOptions;
  readonly #log: ClientLog;
  readonly #calls = new CallsInFlight();
  #client: NativeAdmin | undefined;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#log = new ClientLog(options.logger, 'group admin client');
  }

  /** Nobody, where there is no such group. */
  async describe(groupId: string): Promise<readonly GroupMember[]> {
    const doing = `Describing group ${groupId}`;
    const group = await this.#ask(groupId, doing);
    if (group === undefined || group.error?.code === errorNumbers.groupNotFound) return [];
    if (group.error) throw classify(group.error, 'admin', doing);
    return group.members.map((member) => ({
      memberId: member.memberId,
      clientId: member.clientId,
      instanceId: member.groupInstanceId,
      partitions: member.assignment.topicPartitions.map(({ topic, partition }) => ({ topic, partition })),
    }));
  }

  async close(): Promise<void> {
    const idle = await this.#calls.idle(this.#options.closeTimeoutMs);
    if (idle) this.#client?.disconnect();
    else this.#options.logger.error('The group admin client is left behind: a coordinator does not answer.');
  }

  async #ask(groupId: string, doing: string): Promise<NativeGroupDescription | undefined> {
    const timeout = this.#options.requestTimeoutMs;
    if (this.#calls.size > 0 && !(await this.#calls.idle(timeout))) throw unanswered(doing, timeout);
    await this.#request<unknown>(doing, (client, callback) => client.getMetadata({ allTopics: false, timeout }, callback));
    const asked = this.#request(doing, (client, callback: Callback<{ groups: NativeGroupDescription[] }>) =>
      client.describeGroups([groupId], { timeout: coordinatorTimeoutMs }, callback),
    );
    if (!(await settledWithin(asked, timeout))) throw unanswered(doing, timeout);
    return (await asked).groups[0];
  }

  #request<T>(doing: string, start: (client: NativeAdmin, callback: Callback<T>) => void): Promise<T> {
    return this.#calls.track(
      nativeCall<T>(
        (thrown) => classify(thrown, 'admin', doing),
        (callback) => start(this.#connected(), callback),
      ),
    );
  }

  #connected(): NativeAdmin {
    this.#client ??= loadNativeModule().AdminClient.create(groupAdminProperties(this.#options), {
      'event.error': (error: Error) => this.#log.error(error),
      'event.log': (log: NativeLogEvent) => this.#log.line(log),
    });
    return this.#client;
  }
}

function unanswered(doing: string, timeoutMs: number): BrokerError {
  return new BrokerError({ code: 'TIMED_OUT', kind: 'retriable', message: `${doing} was not answered within ${timeoutMs} ms.` });
}
