import * as v from "valibot";
import type { ApiObject, Client } from "../api/client";
import type { Configuration } from "../config/settings";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { withoutSecrets } from "../diagnostics/redact";
import { labelsOf } from "../model/changes";
import { instanceKind, isMap, type Kind, pathStep, projectKind, typeName } from "../model/resource-fields";
import { type Secrets, secretsIn } from "../model/secrets";
import { recorded } from "../model/state";
import { type Context, listingContext, Sessions } from "./context";
import { isDeleted } from "./lookup/object-getter";
import { externalState } from "./read";

const byOwner = new WeakMap<object, Sessions>();

/** Returns the sessions of a program run or of an explicit provider. All functions with the same owner share a client. */
export function sessionsOf(owner: object, environment: NodeJS.ProcessEnv): Sessions {
  const known = byOwner.get(owner) ?? new Sessions(environment);
  byOwner.set(owner, known);
  return known;
}

/** Lists all instances that match a filter. @param secrets names of the secret arguments */
export async function findInstances(
  setting: Configuration,
  given: unknown,
  sessions: Sessions,
  secrets: readonly string[] = [],
) {
  const known = secretsIn(given, secrets);
  const objects = await find(instanceKind, { setting, sessions, known }, async (client, context) =>
    client.instances.list(instanceFilter(given, secrets), context),
  );
  return objects.map((object) => v.parse(foundInstance, object));
}

/** Lists all projects. The projects have the property names that programs use. */
export async function findProjects(setting: Configuration, sessions: Sessions) {
  const objects = await find(projectKind, { setting, sessions }, (client, context) =>
    client.projects.list(context),
  );
  return objects.map((object) => v.parse(foundProject, object));
}

/** Lists objects of one kind. @param search validates the arguments, and sends the requests */
async function find(
  kind: Kind,
  { setting, sessions, known }: { setting: Configuration; sessions: Sessions; known?: Secrets },
  search: (client: Client, context: Context) => Promise<ApiObject[]>,
): Promise<object[]> {
  try {
    sessions.configureOutside(setting);
    const session = sessions.open();
    const context = listingContext(kind, session);
    const objects = await search(session.client, context);
    const found = objects.filter((object) => !isDeleted(object));
    return found.map((object) => ({ ...externalState(context, object, recorded({})).props, id: object.id }));
  } catch (error) {
    const circumstances = {
      action: `listing ${kind.name}s`,
      // The query contains each label as a parameter `label.<key>`.
      propertyOf: (wire: string) => (wire === "label" ? "labels" : wire),
      provider: sessions.provider,
      call: { verb: "list" },
      secrets: [...(known?.strings ?? []), ...sessions.tokens],
      secretProperties: known?.names,
    } as const;
    const message = formatError(error, circumstances);
    const cause = withoutSecrets(error, circumstances.secrets);
    if (!isCloudInfraError(cause)) throw new Error(message, { cause });
    const { code, problem, status, traceId } = cause;
    throw new CloudInfraError(code, message, { problem, status, traceId, cause });
  }
}

const text = v.fallback(v.optional(v.string()), undefined);

/** Parses labels with any keys, because `v.record` would drop a label with the key `constructor`. */
const labels = v.pipe(
  v.custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value)),
  v.transform((map): Record<string, string> => {
    const set = Object.entries(map).filter(([, value]) => value !== null && value !== undefined);
    return Object.fromEntries(
      set.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    );
  }),
);

/** Parses an instance that a function returns. Values of an unexpected type are omitted. */
export const foundInstance = v.object({
  id: v.string(),
  project: text,
  name: text,
  image: text,
  flavor: text,
  network: text,
  publicIp: text,
  sshKeys: v.fallback(v.optional(v.pipe(v.array(v.string()), v.readonly())), undefined),
  labels: v.fallback(v.optional(labels), undefined),
  status: text,
  createdAt: text,
  revision: text,
  url: text,
  ipAddress: text,
});

const foundProject = v.object({
  id: v.string(),
  name: text,
  region: text,
  description: text,
  createdAt: text,
});

export type FoundInstance = v.InferOutput<typeof foundInstance>;

export type FoundProject = v.InferOutput<typeof foundProject>;

/** The filter of a list of instances. An instance must match all properties of the filter. */
export interface InstanceFilter {
  readonly project?: string | undefined;
  readonly status?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * Validates the arguments of `getInstances`, because an ignored filter would return too many instances.
 *
 * @param secrets names of the secret arguments, whose label keys are secret, too
 * @throws CloudInfraError `input_invalid`, which contains the name of each invalid property but no values
 */
export function instanceFilter(given: unknown = {}, secrets: readonly string[] = []): InstanceFilter {
  const problems: string[] = [];
  const stringIn = (path: string, value: unknown): string => {
    if (typeof value === "string") return value;
    problems.push(`${path}: must be a string, but is ${nameOf(value)}`);
    return "";
  };
  const textIn = (name: string, value: unknown): string | undefined => {
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.trim() === "") problems.push(`${name}: must not be empty`);
    return stringIn(name, value);
  };
  const labelsIn = (value: unknown): InstanceFilter["labels"] => {
    if (value === undefined) return undefined;
    if (!isMap(value)) problems.push(`labels: must be a map of strings, but is ${nameOf(value)}`);
    const entries = Object.entries(labelsOf(value)).map(([key, label]) => {
      const path = secrets.includes("labels") ? "labels" : `labels${pathStep(key)}`;
      if (!/^\S+$/.test(key)) problems.push(`${path}: a label key must not be empty or contain white space`);
      return [key, stringIn(path, label)];
    });
    return Object.fromEntries(entries);
  };
  if (!isMap(given)) problems.push(`the arguments must be a map, but are ${nameOf(given)}`);
  const { project, status, labels, ...others } = isMap(given) ? given : {};
  for (const name of Object.keys(others))
    problems.push(`unknown argument "${name}"; expected project, status, labels`);
  const filter = {
    project: textIn("project", project),
    status: textIn("status", status),
    labels: labelsIn(labels),
  };
  if (problems.length === 0) return filter;
  throw new CloudInfraError("input_invalid", problems.join("; "), {
    hint: "Correct the arguments, or omit a filter that you don't need",
  });
}

export function matchesFilter(
  one: { readonly project?: unknown; readonly status?: unknown; readonly labels?: InstanceFilter["labels"] },
  { project, status, labels = {} }: InstanceFilter,
): boolean {
  if (project !== undefined && one.project !== project) return false;
  if (status !== undefined && one.status !== status) return false;
  return Object.entries(labels).every(([key, value]) => one.labels?.[key] === value);
}

function nameOf(value: unknown): string {
  return value === undefined || Number.isNaN(value) ? String(value) : typeName(value);
}
