import type { WireReply } from "../api/transport";
import type { SettingName } from "../config/settings";
import { oneLine } from "../diagnostics/format";
import type { Behaviour } from "../emulator";

/** The points on which services differ, with their titles in the report. */
export const points = {
  address: "Address",
  token: "Token",
  wrongToken: "Wrong token",
  problems: "Problem documents",
  projectPages: "Pages of projects",
  instancePages: "Pages of instances",
  emptyPage: "Empty pages",
  filters: "Filters",
  ids: "Ids",
  dates: "Dates",
  singleObject: "GET of one object",
  listItems: "List items",
  emptyFields: "Empty fields",
  revision: "Revision",
  ipAddress: "Public address",
  deletedObjects: "Deleted objects",
  unknownOperation: "Unknown operation",
  otherFields: "Other fields",
  links: "Links",
  speed: "Round trips",
  rateLimit: "Rate limit",
  clock: "Clock",
  projectCreation: "Creation of projects",
  invalidValues: "Invalid values",
  rejectedKey: "Key of a rejection",
  creation: "Creation",
  replay: "Idempotency key",
  keyReuse: "Reused key",
  operation: "Operation",
  finishedOperation: "Finished operation",
  visibility: "New instances",
  duplicateNames: "Duplicate names",
  busyInstance: "Concurrent updates",
  update: "Update",
  labels: "Labels",
  staleRevision: "Stale revision",
  revisionOf: "Changed revision",
  changedFields: "Changed fields",
  renaming: "Renaming",
  createdValues: "Values",
  lag: "Lag",
  deletion: "Deletion",
  idReuse: "Reused ids",
  failedOperations: "Failed operations",
} as const;

export type PointId = keyof typeof points;

/**
 * What an observation means for users. `works`: nothing to do. `limited`: something is slower, or has to be set or avoided. `fails`: the
 * package can't be used. `unknown`: the service has no object that would show it.
 */
export type Verdict = "works" | "limited" | "fails" | "unknown";

/** What the probe has found out about one point. */
export interface Finding {
  readonly point: PointId;
  readonly verdict: Verdict;
  /** What the service did. Contains no token and no values of objects except ids. */
  readonly observation: string;
  /** What follows for users, if anything. */
  readonly consequence?: string;
  /** Settings that this service requires. */
  readonly settings?: { readonly [Name in SettingName]?: string };
  /** The switches with which the emulator behaves the same. */
  readonly behaviour?: Partial<Behaviour>;
}

type More = Pick<Finding, "settings" | "behaviour">;

/** Creates a finding that requires nothing. @param consequence what the package does about it */
export function seen(
  point: PointId,
  observation: string,
  behaviour?: Partial<Behaviour>,
  consequence?: string,
): Finding {
  return {
    ...{ point, verdict: "works", observation },
    ...(behaviour && { behaviour }),
    ...(consequence !== undefined && { consequence }),
  };
}

const withVerdict =
  (verdict: Verdict) =>
  (point: PointId, observation: string, consequence: string, more: More = {}): Finding => ({
    ...{ point, verdict, observation, consequence },
    ...more,
  });

export const limited = withVerdict("limited");
export const failing = withVerdict("fails");
export const unknown = withVerdict("unknown");

export const REFRESH_FIRST =
  "run `pulumi refresh` before `pulumi destroy` if somebody deletes objects outside Pulumi";

/** Describes a rejection: its status, and its code or detail. */
export function causeOf({ reply }: { readonly reply: WireReply }, part?: "code" | "detail"): string {
  const { status, problem } = reply;
  const text = part === undefined ? (problem?.detail ?? problem?.code) : problem?.[part];
  const short = text && oneLine(text).replace(/ +/g, " ").slice(0, 200);
  return short === undefined ? String(status) : `${status}: ${short}`;
}

/** Whether the package can be used with the service, according to the findings. */
export function works(findings: readonly Finding[]): boolean {
  return findings.every(({ verdict }) => verdict !== "fails");
}

/** Returns the settings that the service requires, by name. */
export function requiredSettings(findings: readonly Finding[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...findings.map(({ settings }) => settings));
}

/** Returns the switches with which the emulator behaves like the service, as far as the probe has observed it. */
export function observedBehaviour(findings: readonly Finding[]): Partial<Behaviour> {
  return Object.assign({}, ...findings.map(({ behaviour }) => behaviour));
}

/** Adds findings. A later finding replaces an earlier one about the same point. */
export function addFindings(findings: readonly Finding[], later: readonly Finding[]): Finding[] {
  return [...new Map([...findings, ...later].map((finding) => [finding.point, finding])).values()];
}
