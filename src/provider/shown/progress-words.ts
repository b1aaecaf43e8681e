import type { CloudInfraError } from "../../diagnostics/error";
import type { Pause } from "../../operations/pause";

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
