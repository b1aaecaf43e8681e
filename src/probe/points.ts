import type { SettingName } from "../config/settings";
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
  links: "Links",
  speed: "Round trips",
  rateLimit: "Rate limit",
  clock: "Clock",
  creation: "Creation",
  visibility: "New instances",
  replay: "Idempotency key",
  keyReuse: "Reused key",
  operation: "Operation",
  finishedOperation: "Finished operation",
  createdValues: "Created values",
  duplicateNames: "Duplicate names",
  update: "Update",
  labels: "Labels",
  staleRevision: "Stale revision",
  deletion: "Deletion",
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
  /** What follows for users. */
  readonly consequence: string;
  /** Settings that this service requires. */
  readonly settings?: { readonly [Name in SettingName]?: string };
  /** The switches with which the emulator behaves the same. */
  readonly behaviour?: Partial<Behaviour>;
}

/** Creates a finding. */
export function finding(
  point: PointId,
  verdict: Verdict,
  observation: string,
  consequence: string,
  more: Pick<Finding, "settings" | "behaviour"> = {},
): Finding {
  return { point, verdict, observation, consequence, ...more };
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
