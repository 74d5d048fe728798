/** A binary heap of timers: earliest first, equal times in the order of their making. */
export interface Timer {
  readonly at: number;
  readonly order: number;
  callback: () => void;
  cancelled: boolean;
}

export class TimerQueue {
  private readonly heap: Timer[] = [];
  private nextOrder = 0;
  private live = 0;

  /** Timers neither taken nor cancelled. */
  get size(): number {
    return this.live;
  }

  /** @returns a function that cancels the timer; calling it late or twice does nothing. */
  add(at: number, callback: () => void): () => void {
    const timer: Timer = { at, order: this.nextOrder++, callback, cancelled: false };
    this.heap.push(timer);
    this.live += 1;
    this.siftUp(this.heap.length - 1);
    return () => {
      if (timer.cancelled) return;
      timer.cancelled = true;
      // The time-out of a request would keep its answer in memory until it is due.
      timer.callback = nothing;
      this.live -= 1;
      if (this.heap.length > 2 * this.live + 1_000) this.rebuild();
    };
  }

  /** Due time of the next timer; infinity when there is none. */
  nextAt(): number {
    this.dropCancelled();
    return this.heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  take(): Timer {
    this.dropCancelled();
    const timer = this.removeFirst();
    // A timer that has been taken can no longer be cancelled.
    timer.cancelled = true;
    this.live -= 1;
    return timer;
  }

  private dropCancelled(): void {
    while (this.heap[0]?.cancelled === true) this.removeFirst();
  }

  /** Most timers are time-outs that are cancelled: without this they would pile up until they are due. */
  private rebuild(): void {
    const kept = this.heap.filter((timer) => !timer.cancelled).toSorted((one, other) => (isEarlier(one, other) ? -1 : 1));
    this.heap.splice(0, this.heap.length, ...kept);
  }

  private removeFirst(): Timer {
    const first = this.heap[0];
    const last = this.heap.pop();
    if (first === undefined || last === undefined) throw new Error('The timer queue is empty.');
    if (first !== last) {
      this.heap[0] = last;
      this.siftDown();
    }
    return first;
  }

  private siftUp(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.swapIfEarlier(index, parent)) return;
      index = parent;
    }
  }

  private siftDown(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      if (left >= this.heap.length) return;
      const child = right < this.heap.length && isEarlier(this.at(right), this.at(left)) ? right : left;
      if (!this.swapIfEarlier(child, index)) return;
      index = child;
    }
  }

  private swapIfEarlier(lower: number, upper: number): boolean {
    const below = this.at(lower);
    const above = this.at(upper);
    if (!isEarlier(below, above)) return false;
    this.heap[lower] = above;
    this.heap[upper] = below;
    return true;
  }

  private at(index: number): Timer {
    const timer = this.heap[index];
    if (timer === undefined) throw new Error(`The timer queue has no entry ${index}.`);
    return timer;
  }
}

function isEarlier(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

function nothing(): void {}
