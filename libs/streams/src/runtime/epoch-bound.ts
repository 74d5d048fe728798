/**
 * Bounds what an epoch may hold after one that could not be committed in time: processed again as it was, it would not be in time again,
 * and so for ever. A failure halves the bound, each success raises it a little, until it is gone.
 */
export class EpochBound {
  /** Outputs and writes of an epoch, in bytes; infinite while all is well. */
  bytesMax = Number.POSITIVE_INFINITY;

  /** @param bytes what the epoch held. */
  missed(bytes: number): void {
    this.bytesMax = Math.max(1, Math.min(this.bytesMax, bytes) / 2);
  }

  /** @param bytes from which on no bound is needed. */
  kept(bytes: number): void {
    this.bytesMax *= growth;
    if (this.bytesMax > bytes) this.bytesMax = Number.POSITIVE_INFINITY;
  }
}

const growth = 1.2;
