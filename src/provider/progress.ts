import { createRequire } from "node:module";
import { setTimeout } from "node:timers/promises";
import type { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";
import type { CloudInfraError } from "../diagnostics/error";
import type { Clock } from "../polling/clock";
import type { Pause, PauseListener } from "../polling/schedule";
import type { WaitProgress } from "../polling/wait";

/** The time after which a call displays its first message, in milliseconds. Each message costs the engine some time. */
const FIRST_MS = 3_000;
/** The time between two messages of a call without progress, as a share of the elapsed time. */
const TICK_SHARE = 0.2;
/** The minimum time between two updates of the message, in milliseconds. */
const MIN_TICK_MS = 10_000;
/** The minimum duration of a pause that is displayed, in milliseconds. Shorter pauses end before anybody can read the message. */
const MIN_SHOWN_PAUSE_MS = 2_000;

/** The number of equal steps in which CI logs display the progress of an operation. */
const CI_STEPS = 4;
const MINUTE_MS = 60_000;
/** The numbers of minutes after which a call without progress logs a line in CI. Later lines follow every hour. */
const CI_MARKS = [1, 5, 15];

interface ProgressOptions {
  readonly clock: Clock;
  /** Whether the output is a CI log with a separate line for each message. */
  readonly inCi: boolean;
}

/**
 * Displays the progress of a call as the status message of the resource, for example `creating 42% · about 18 s left`. In CI, logs a line
 * for each quarter of the progress or, if there is no progress, at increasing intervals.
 */
export class Progress implements PauseListener {
  private readonly beganMs: number;
  private readonly waits: (() => WaitReason)[] = [];
  private step: OperationProgress | undefined;
  private pause: Pause | undefined;
  private shown: string | undefined;
  private quarter = 0;
  private marks = 0;
  /** Whether a message was written since the last line in CI. */
  private isFresh = false;
  private cancel: (() => void) | undefined;
  /** The time of the alarm that `cancel` cancels. */
  private dueMs = 0;

  constructor(
    private readonly log: StatusLog,
    private readonly verb: string,
    private readonly options: ProgressOptions,
  ) {
    this.beganMs = options.clock.now();
  }

  /** Displays the progress of the call after a few seconds, until `clear` is called. */
  begin(): this {
    this.tickLater();
    return this;
  }

  /** Displays the progress of an operation. @param step undefined after the operation has ended */
  show(step: WaitProgress | undefined): void {
    const isOver = step === undefined || (this.step?.pause !== undefined && step.pause === undefined);
    this.step = step && { ...step, atMs: this.options.clock.now() };
    if (step === undefined) this.quarter = 0; // the call may run another operation
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

  /** Runs a function, and displays the reason for the wait. @param what a string, or a function that returns the current reason */
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

  /** Displays a status message that remains visible after the call. */
  async showMessage(message: string): Promise<void> {
    await this.log.write(message);
  }

  /** Removes the status message, which would otherwise remain visible. Must be called before the call returns. */
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
    const { verb, step, pause, elapsedMs } = this;
    const waits = this.waits.map((wait) => wait());
    const text = formatProgress({ verb, step, pause, waits, elapsedMs, nowMs: clock.now() });
    if (text !== this.shown) void this.log.write(text);
    this.shown = text;
    this.isFresh = true;
    if (!this.options.inCi && this.cancel !== undefined) this.tickLater();
  }

  private tickLater(): void {
    const { shown, elapsedMs } = this;
    if (this.options.inCi) this.tickIn(markMs(this.marks) - elapsedMs);
    else if (shown === undefined) this.tickIn(Math.max(0, FIRST_MS - elapsedMs));
    else this.tickIn(Math.max(MIN_TICK_MS, TICK_SHARE * elapsedMs));
  }

  /** Updates the message within a few seconds, because the current message may be outdated. */
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

/** Returns the time of the next line in CI, in milliseconds since the call began. */
function markMs(marks: number): number {
  return (CI_MARKS[marks] ?? (marks - CI_MARKS.length + 1) * 60) * MINUTE_MS;
}

/** The progress of an operation, as the polling code reports it. */
export interface OperationProgress extends WaitProgress {
  /** The time at which the progress was reported, in milliseconds. */
  readonly atMs: number;
}

export interface WaitReason {
  readonly for: string;
  /** The pause in a request that several calls share. */
  readonly pause?: Pause | undefined;
}

export interface ProgressStatus {
  readonly verb: string;
  readonly step?: OperationProgress | undefined;
  readonly pause?: Pause | undefined;
  /** The reasons to wait, from the outermost to the innermost call. */
  readonly waits: readonly WaitReason[];
  /** The time since the call began, in milliseconds. */
  readonly elapsedMs: number;
  /** The current time, on the same clock as the pauses and steps. */
  readonly nowMs: number;
}

/** The age after which a percentage is outdated, in milliseconds. */
const FRESH_MS = 2_000;

/** Formats a status message, for example `reading · listing instances (page 12) · the service returned 503 · retrying in 8 s`. */
export function formatProgress({ verb, step, pause, waits, elapsedMs, nowMs }: ProgressStatus): string {
  // The outermost reason describes the whole call best.
  const what = waits[0]?.for;
  const held = pause ?? waits.findLast((wait) => wait.pause !== undefined)?.pause ?? step?.pause;
  const isCounted = held === undefined && step?.remainingMs !== undefined;
  const percent = percentOf(step, isCounted ? nowMs : undefined);
  const head = what === undefined && percent !== undefined ? `${verb} ${percent}` : verb;
  const parts = [head, what, what === undefined ? undefined : percent];
  const elapsed = percent === undefined ? `${formatSeconds(elapsedMs)} elapsed` : undefined;
  const end = held === undefined ? (timeLeft(step, nowMs) ?? elapsed) : formatPause(held, nowMs);
  return [...parts, end].filter((part) => part !== undefined).join(" · ");
}

function timeLeft(step: OperationProgress | undefined, nowMs: number): string | undefined {
  if (step?.remainingMs === undefined) return undefined;
  const leftMs = step.remainingMs - (nowMs - step.atMs);
  return leftMs > 0 ? `about ${formatSeconds(leftMs)} left` : undefined;
}

/** @param nowMs the current time if the message contains the remaining time, which an outdated percentage would contradict */
function percentOf(step: OperationProgress | undefined, nowMs: number | undefined): string | undefined {
  if (step?.progress === undefined || (nowMs ?? step.atMs) - step.atMs > FRESH_MS) return undefined;
  return `${Math.round(Math.min(Math.max(step.progress, 0), 1) * 100)}%`;
}

const RATE_LIMITED = "rate limited by the service (429)";

function formatPause(pause: Pause, nowMs: number): string {
  if (pause.for === "turn") return pause.isSlowed() ? RATE_LIMITED : "queued behind other requests";
  const leftMs = pause.at - nowMs;
  return `${formatFailure(pause.after)} · ${leftMs > 0 ? `retrying in ${formatSeconds(leftMs)}` : "retrying now"}`;
}

function formatFailure({ code, status }: CloudInfraError): string {
  if (status === undefined)
    return code === "unreachable" ? "the service can't be reached" : "the last attempt failed";
  if (status === 429) return RATE_LIMITED;
  return status < 300 ? "the service returned an unreadable reply" : `the service returned ${status}`;
}

function formatSeconds(ms: number): string {
  const whole = Math.max(1, Math.round(ms / 1000));
  return whole < 120 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}

/** Writes status messages for a resource, which Pulumi displays in the Info column. */
export interface StatusLog {
  /** Resolves when the engine has received the message, or after 500 ms. Never rejects. */
  write(message: string): Promise<void>;
}

export type StatusLogs = Pick<EngineLog, "statusLogFor">;

/** The maximum wait until the engine has received a message, in milliseconds. */
const LOG_MS = 500;

/** Sends messages to the engine. If this fails, status messages are dropped, and warnings are printed to the console. */
export class EngineLog {
  private client: EngineClient | undefined;

  constructor(private readonly address: string | undefined) {}

  statusLogFor(urn: string | undefined): StatusLog {
    return {
      write: async (message) => {
        if (urn !== undefined) await this.send(message, urn);
      },
    };
  }

  /** Logs a warning for the stack. Pulumi displays the warning among the diagnostics at the end. */
  async warn(message: string): Promise<void> {
    if (!(await this.send(message))) console.warn(message);
  }

  /** Sends a warning or, with the URN of a resource, a status message. Returns whether the engine accepted the message. */
  private async send(message: string, urn?: string): Promise<boolean> {
    if (this.address === undefined) return false;
    try {
      // The module is loaded only for the first message. Processes that only check and diff don't need it.
      const engine: typeof import("@pulumi/pulumi/proto/engine_pb") = require("@pulumi/pulumi/proto/engine_pb");
      const request = new engine.LogRequest();
      request.setSeverity(engine.LogSeverity[urn === undefined ? "WARNING" : "INFO"]);
      request.setUrn(urn ?? "");
      request.setMessage(message);
      request.setEphemeral(urn !== undefined); // Pulumi doesn't display status messages among the diagnostics
      this.client ??= connect(this.address);
      const client = this.client;
      const taken = new Promise<boolean>((resolve) =>
        client.log(request, (error) => resolve(error === null)),
      );
      return await Promise.race([taken, setTimeout(LOG_MS, false, { ref: false })]);
    } catch {
      this.client = undefined;
      return false;
    }
  }
}

function connect(address: string): EngineClient {
  const engine: typeof import("@pulumi/pulumi/proto/engine_grpc_pb") = require("@pulumi/pulumi/proto/engine_grpc_pb");
  const grpc = createRequire(require.resolve("@pulumi/pulumi"))("@grpc/grpc-js");
  return new engine.EngineClient(address, grpc.credentials.createInsecure());
}
