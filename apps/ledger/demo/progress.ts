/** Says how far the demo is: one line that is rewritten on a terminal, a line now and then elsewhere. */
export interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const quietMs = 5_000;

export class Progress {
  private lastMs = -Infinity;
  private lineOpen = false;

  constructor(
    private readonly output: Output,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** What is going on at the moment; replaced by the next call. */
  update(text: string): void {
    if (this.output.isTTY === true) {
      this.output.write(`\r\u001b[2K${text}`);
      this.lineOpen = true;
    } else if (this.nowMs() - this.lastMs >= quietMs) {
      this.lastMs = this.nowMs();
      this.output.write(`${text}\n`);
    }
  }

  /** Something that happened; stays. */
  event(text: string): void {
    this.output.write(`${this.lineOpen ? '\r\u001b[2K' : ''}${text}\n`);
    this.lineOpen = false;
  }
}
