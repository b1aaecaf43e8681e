/** A token bucket with a capacity of one second's requests. It starts full. */
export class Limit {
  private tokens: number;
  private filledAt = performance.now();

  constructor(private readonly perSecond: number) {
    this.tokens = perSecond;
  }

  /** @returns whether another request is allowed now */
  take(): boolean {
    const now = performance.now();
    this.tokens = Math.min(this.perSecond, this.tokens + ((now - this.filledAt) / 1_000) * this.perSecond);
    this.filledAt = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}
