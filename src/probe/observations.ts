import type { WireReply } from "../api/transport";
import { oneLine } from "../diagnostics/format";
import type { WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import type { Reads } from "./facts";
import type { Exchange } from "./reading-points";

/** Describes a rejection by its status, and by its code or detail. */
export function causeOf({ reply }: { readonly reply: WireReply }, part?: "code" | "detail"): string {
  const { status, problem } = reply;
  const text = part === undefined ? (problem?.detail ?? problem?.code) : problem?.[part];
  const short = text && oneLine(text).replace(/ +/g, " ").slice(0, 200);
  return short === undefined ? String(status) : `${status}: ${short}`;
}

/** Returns the status of a reply if it is one of the `known` statuses. */
export function statusCode<const T extends number>({ reply }: Exchange, known: readonly T[]): T | undefined {
  return known.find((status) => status === reply.status);
}

/** Reports whether a 202 reply contains neither an operation nor a `Location` header. */
export function isBare({ reply, json }: Exchange): boolean {
  return reply.status === 202 && !("status" in json) && reply.header("location") === undefined;
}

export const isPoll = (url: URL): boolean => url.pathname.includes("/operations/");
export const isEnd = ({ status }: WireFields): boolean => !/^(pending|running)$/i.test(String(status));

export function durationOf({ started_at: start, finished_at: end }: WireFields): number | undefined {
  const ms = Date.parse(String(end)) - Date.parse(String(start));
  return Number.isNaN(ms) ? undefined : ms;
}

/** Reports whether the instance was visible while its operation was still running. */
export function isListedEarly({ lists }: Reads, polls: readonly Exchange[] = []): boolean {
  const last = polls.findLast(({ request }) => isPoll(request.url));
  return lists === 0 || timeOf(lists) < (durationOf(last?.json ?? {}) ?? 0);
}

/** The pauses before repeated reads, in milliseconds. */
export const PAUSES_MS: readonly number[] = [0, 500, 1_500, 2_000, 4_000, 8_000, 14_000];

/** Returns the time of a read, in milliseconds since the first read. */
export const timeOf = (read: number): number => PAUSES_MS.slice(0, read + 1).reduce((sum, ms) => sum + ms, 0);

/** Returns the time halfway between a read and the previous read, in milliseconds. */
export const momentOf = (read: number): number => (timeOf(read - 1) + timeOf(read)) / 2;

/** Describes the time after which a read contained a change. */
export function after(read: number): string {
  if (read === 0) return "immediately";
  const isShown = Number.isFinite(read);
  return `${isShown ? "within" : "not within"} ${formatDuration(timeOf(isShown ? read : PAUSES_MS.length))}`;
}
