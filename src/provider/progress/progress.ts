import type { CloudInfraError } from "../../diagnostics/error";
import type { Pause, PauseListener } from "../../polling/backoff";
import type { Clock } from "../../polling/clock";
import type { StatusLog } from "./engine-log";

/** Nothing is said of a wait before it has lasted so long, in milliseconds: each message costs the engine. */
const FIRST_MS = 3_000;
/** Where nothing moves the row is written anew after this share of what has passed, so that it is seen to be alive, … */
const TICK_SHARE = 0.2;
/** … and never sooner than after so many milliseconds. */
const MIN_TICK_MS = 10_000;
/** A pause that is shorter, in milliseconds, is over before anybody has read of it. */
const MIN_SHOWN_PAUSE_MS = 2_000;

const CI_STEPS = 4;
const MINUTE_MS = 60_000;
/** In CI a wait that shows nothing else has a line after so many minutes, and then each hour. */
const CI_MARKS = [1, 5, 15];

export interface ProgressOptions {
  readonly clock: Clock;
  /** Whether each message is a line of its own in somebody's log. */
  readonly inCi: boolean;
}

/**
 * Shows in the resource's own row how far a call is and what it waits for: `creating 42 % · about 18 s left`,
 * `deleting · waiting until the service shows it no more · 40 s so far`. In CI, where each message is a line, by quarters and, where
 * nothing moves, ever more seldom.
 */
export class Progress implements PauseListener {
  private readonly beganMs: number;
  private readonly waits: (() => WaitReason)[] = [];
  private step: OperationProgress | undefined;
  private pause: Pause | undefined;
  private shown: string | undefined;
  private quarter = 0;
  private marks = 0;
  /** Whether something was said since the last mark. */
  private isFresh = false;
  private cancel: (() => void) | undefined;
  /** When the alarm rings that {@link cancel} takes back. */
  private dueMs = 0;

  constructor(
    private readonly log: StatusLog,
    private readonly verb: string,
    private readonly options: ProgressOptions,
  ) {
    this.beganMs = options.clock.now();
  }

  /** From now on the row tells of what takes long, until {@link clear}. */
  begin(): this {
    this.tickLater();
    return this;
  }

  /** How far an operation is; undefined once it is over. */
  show(step: Omit<OperationProgress, "atMs"> | undefined): void {
    const isOver = step === undefined || (this.step?.pause !== undefined && step.pause === undefined);
    this.step = step && { ...step, atMs: this.options.clock.now() };
    if (step === undefined) this.quarter = 0; // the next operation of this call begins at none
    if (step?.progress === undefined) {
      if (isOver) this.tickSoon();
      return;
    }
    const quarter = Math.floor(step.progress * CI_STEPS);
    if (this.options.inCi && quarter <= this.quarter) return;
    this.quarter = quarter;
    this.write();
  }

  pausing(pause: Pause | undefined): void {
    if (this.pause !== undefined && pause === undefined) this.tickSoon();
    this.pause = pause;
    const { inCi, clock } = this.options;
    if (inCi || this.elapsedMs < FIRST_MS || pause?.for !== "retry") return;
    if (pause.at - clock.now() >= MIN_SHOWN_PAUSE_MS) this.write();
  }

  /** While the work lasts, the row tells what is waited for: in words that are asked for anew each time. */
  async during<T>(what: string | (() => WaitReason), work: () => Promise<T>): Promise<T> {
    const wait = typeof what === "string" ? () => ({ for: what }) : what;
    this.waits.push(wait);
    if (this.waits.length === 1) this.tickSoon();
    try {
      return await work();
    } finally {
      this.waits.splice(this.waits.indexOf(wait), 1);
    }
  }

  /** Shows a message that stays in the row after the call. */
  async showMessage(message: string): Promise<void> {
    await this.log.write(message);
  }

  /** The row keeps its last message, through later steps too, until it is taken away: before the step is seen to end. */
  async clear(): Promise<void> {
    this.cancel?.();
    this.cancel = undefined;
    if (this.shown !== undefined) await this.log.write("");
    this.shown = undefined;
  }

  private get elapsedMs(): number {
    return this.options.clock.now() - this.beganMs;
  }

  private write(): void {
    const { clock } = this.options;
    const { verb, step, pause, waits, elapsedMs } = this;
    const text = formatProgress({
      verb,
      step,
      pause,
      waits: waits.map((wait) => wait()),
      elapsedMs,
      nowMs: clock.now(),
    });
    if (text !== this.shown) void this.log.write(text);
    this.shown = text;
    this.isFresh = true;
    if (!this.options.inCi && this.cancel !== undefined) this.tickLater();
  }

  private tickLater(): void {
    this.tickIn(this.options.inCi ? markMs(this.marks) - this.elapsedMs : this.untilTickMs());
  }

  /** What the row tells may be over: it is written anew before long, however long the call has lasted. */
  private tickSoon(): void {
    const isLater = this.dueMs - this.options.clock.now() > FIRST_MS;
    if (!this.options.inCi && this.cancel !== undefined && isLater) this.tickIn(FIRST_MS);
  }

  private tickIn(ms: number): void {
    this.cancel?.();
    const { clock } = this.options;
    this.dueMs = clock.now() + ms;
    this.cancel = clock.alarm(ms, () => this.tick());
  }

  private untilTickMs(): number {
    if (this.shown === undefined) return Math.max(0, FIRST_MS - this.elapsedMs);
    return Math.max(MIN_TICK_MS, TICK_SHARE * this.elapsedMs);
  }

  private tick(): void {
    if (!this.options.inCi) {
      this.write();
      return;
    }
    this.marks += 1;
    if (!this.isFresh) this.write();
    this.isFresh = false;
    this.tickLater();
  }
}

/** When the next line in CI is due, in milliseconds since the call began. */
function markMs(marks: number): number {
  return (CI_MARKS[marks] ?? (marks - CI_MARKS.length + 1) * 60) * MINUTE_MS;
}

/** How far an operation is, as the wait loop tells it. */
export interface OperationProgress {
  /** From 0 to 1; undefined where the service does not tell. */
  readonly progress?: number | undefined;
  /** Estimated, in milliseconds. */
  readonly remainingMs?: number | undefined;
  /** What keeps the wait from looking again. */
  readonly pause?: Pause | undefined;
  /** When all this was so. */
  readonly atMs: number;
}

/** What is waited for. */
export interface WaitReason {
  readonly for: string;
  /** What keeps it waiting. */
  readonly pause?: Pause | undefined;
}

/** All that a row tells of one call. */
export interface ProgressStatus {
  readonly verb: string;
  readonly step?: OperationProgress | undefined;
  readonly pause?: Pause | undefined;
  /** From the outermost to the innermost. */
  readonly waits: readonly WaitReason[];
  /** Since the call began, in milliseconds. */
  readonly elapsedMs: number;
  /** On the clock that pauses and steps are measured with. */
  readonly nowMs: number;
}

/** A look that is older, in milliseconds, does not tell how far an operation is now. */
const FRESH_MS = 2_000;

/** `creating 42 % · about 18 s left`, `reading · page 12 of the list · the service answers 503; next try in 8 s`. */
export function formatProgress({ verb, step, pause, waits, elapsedMs, nowMs }: ProgressStatus): string {
  // What the whole is for says more than the single look on the way there.
  const what = waits[0]?.for;
  const held = pause ?? waits.findLast((wait) => wait.pause !== undefined)?.pause ?? step?.pause;
  const left = held === undefined ? timeLeft(step, nowMs) : undefined;
  const isCounted = held === undefined && step?.remainingMs !== undefined;
  const percent = percentOf(step, isCounted ? nowMs : undefined);
  const head = what === undefined && percent !== undefined ? `${verb} ${percent}` : verb;
  const parts = [head, what, what === undefined ? undefined : percent];
  const soFar = percent === undefined ? `${formatSeconds(elapsedMs)} so far` : undefined;
  const end = held === undefined ? (left ?? soFar) : formatPause(held, nowMs);
  return [...parts, end].filter((part) => part !== undefined).join(" · ");
}

function timeLeft(step: OperationProgress | undefined, nowMs: number): string | undefined {
  if (step?.remainingMs === undefined) return undefined;
  const leftMs = step.remainingMs - (nowMs - step.atMs);
  return leftMs > 0 ? `about ${formatSeconds(leftMs)} left` : undefined;
}

/** @param nowMs where a time left is counted down beside it, which an old percent would contradict */
function percentOf(step: OperationProgress | undefined, nowMs: number | undefined): string | undefined {
  if (step?.progress === undefined || (nowMs ?? step.atMs) - step.atMs > FRESH_MS) return undefined;
  return `${Math.round(Math.min(Math.max(step.progress, 0), 1) * 100)} %`;
}

function formatPause(pause: Pause, nowMs: number): string {
  if (pause.for === "turn")
    return `waiting for its turn${pause.isSlowed() ? ": the service wants fewer requests (429)" : ""}`;
  const leftMs = pause.at - nowMs;
  return `${formatFailure(pause.after)}; ${leftMs > 0 ? `next try in ${formatSeconds(leftMs)}` : "trying again"}`;
}

function formatFailure({ code, status }: CloudInfraError): string {
  if (status === undefined)
    return code === "unreachable" ? "the service can't be reached" : "the last try failed";
  return status < 300 ? "the service's reply can't be read" : `the service answers ${status}`;
}

function formatSeconds(ms: number): string {
  const whole = Math.max(1, Math.round(ms / 1000));
  return whole < 120 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}
