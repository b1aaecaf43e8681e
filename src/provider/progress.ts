import type { RowLog } from "./engine-log";

/** How far an operation is, as the wait loop tells it. */
export interface Step {
  readonly progress?: number | undefined;
  readonly elapsedMs: number;
  readonly remainingMs?: number | undefined;
}

const CI_STEPS = 4;

/** Shows progress in the resource's own row: `creating 42 % · about 18 s left`. In CI, where each message is a line, by quarters. */
export class Progress {
  private shown: string | undefined;
  private quarter = 0;

  constructor(
    private readonly log: RowLog,
    private readonly verb: string,
    private readonly inCi: boolean,
  ) {}

  show(step: Step): void {
    const quarter = Math.floor((step.progress ?? 0) * CI_STEPS);
    if (this.inCi && quarter <= this.quarter) return;
    this.quarter = quarter;
    const text = `${this.verb} ${inWords(step)}`;
    if (text !== this.shown) void this.log.write(text);
    this.shown = text;
  }

  /** The row keeps its last message, through later steps too, until it is taken away: before the step is seen to end. */
  async clear(): Promise<void> {
    if (this.shown !== undefined) await this.log.write("");
    this.shown = undefined;
  }
}

function inWords({ progress, elapsedMs, remainingMs }: Step): string {
  if (progress === undefined) return `· ${seconds(elapsedMs)} so far`;
  const percent = `${Math.round(Math.min(Math.max(progress, 0), 1) * 100)} %`;
  return remainingMs === undefined ? percent : `${percent} · about ${seconds(remainingMs)} left`;
}

function seconds(ms: number): string {
  const whole = Math.max(1, Math.round(ms / 1000));
  return whole < 120 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}
