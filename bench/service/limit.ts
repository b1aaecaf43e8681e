/** A bucket that holds what one second allows, and is full at first. */
export class Limit {
  private tokens: number;
  private filledAt = performance.now();

  constructor(private readonly perSecond: number) {
    this.tokens = perSecond;
  }

  /** @returns whether one more may come now */
  take(): boolean {
    const now = performance.now();
    this.tokens = Math.min(this.perSecond, this.tokens + ((now - this.filledAt) / 1_000) * this.perSecond);
    this.filledAt = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}
