/** Gathers what the broker refused: the client reports failures alone. */
import { type DeliveryFailure, partitionName, type TopicPartition } from '@tally/streams';
import { classify, errorNumbers, numberOf } from './errors.js';
import type { NativeProducer } from './native.js';

export class DeliveryReports {
  #client: NativeProducer | undefined;
  /** One per partition and error: a refused batch reports each of its records. */
  readonly #failures = new Map<string, DeliveryFailure>();
  #cause: DeliveryFailure | undefined;
  #hasPurged = false;
  #count = 0;

  /** What an earlier client reported stays until it is taken. */
  listen(client: NativeProducer): void {
    this.#client = client;
    client.on('delivery-report', (error, report) => this.#report(error, report));
  }

  /** Why a call of the open transaction fails: for a refused record where there is one. It stays when the failures are taken. */
  get cause(): DeliveryFailure | undefined {
    return this.#cause;
  }

  /** Records of the transaction were dropped, which may have been sent. */
  get hasPurged(): boolean {
    return this.#hasPurged;
  }

  /** A transaction begins: what failed before is no cause any more. */
  begun(): void {
    this.#cause = undefined;
    this.#hasPurged = false;
  }

  takeFailures(): readonly DeliveryFailure[] {
    const failures = [...this.#failures.values()];
    this.#failures.clear();
    return failures;
  }

  /**
   * Waits until the reports that the client has by now have been counted: it gives them out when it is polled, passes on at most a hundred per turn of the event
   * loop, and a commit may call back before them.
   */
  async settled(): Promise<void> {
    if (this.#client?.isConnected() === true) this.#client.poll();
    for (let before = -1, turns = 0; turns < 100_000 && before !== this.#count; turns++) {
      before = this.#count;
      // The reports of a turn arrive between two immediates; the second one sees those of a turn that began beside the first.
      await nextTurn();
      await nextTurn();
    }
  }

  #report(error: unknown, at: TopicPartition): void {
    this.#count++;
    if (!error) return;
    const number = numberOf(error);
    // What an abort drops was not refused.
    if (number === errorNumbers.purgedInQueue || number === errorNumbers.purgedInFlight) {
      this.#hasPurged = true;
      return;
    }
    const place = { topic: at.topic, partition: at.partition };
    const failure = { ...place, error: classify(error, 'deliver', `Writing to ${partitionName(at)}`, place) };
    if (this.#cause === undefined || (this.#cause.error.kind !== 'recordRefused' && failure.error.kind === 'recordRefused'))
      this.#cause = failure;
    const key = `${partitionName(at)} ${number}`;
    if (!this.#failures.has(key)) this.#failures.set(key, failure);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
