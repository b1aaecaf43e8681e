import * as v from "valibot";
import type { ApiObject, Client } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { withoutSecrets } from "../diagnostics/redact";
import { instanceKind, type Kind, projectKind } from "../model/kinds";
import { outputsOf } from "../model/outputs";
import { toProgramValue } from "../model/remote-values";
import { type Secrets, secretsIn } from "../model/secrets";
import type { Recorded } from "../model/state";
import { type Context, listingContext } from "./context";
import { instanceFilter } from "./filters";
import { isDeleted } from "./lookup/lookup-result";
import { Sessions } from "./session";

/** Reads a setting of the stack or of an explicit provider, by its name without `cloudinfra:`. */
type Setting = (key: string) => string | undefined;

const byOwner = new WeakMap<object, Sessions>();

/**
 * Returns the sessions of one run of a program, or of one explicit provider. All functions that use it share one client.
 */
export function sessionsOf(owner: object): Sessions {
  const known = byOwner.get(owner) ?? new Sessions(process.env);
  byOwner.set(owner, known);
  return known;
}

/**
 * Lists all instances that match a filter, with the property names of programs.
 *
 * @param given the program's arguments, not yet validated
 * @param secrets names of the secret arguments
 */
export async function findInstances(
  setting: Setting,
  given: unknown,
  sessions: Sessions,
  secrets: readonly string[] = [],
) {
  const known = secretsIn(given, secrets);
  const objects = await find(instanceKind, { setting, sessions, known }, () => {
    const filter = instanceFilter(given, secrets);
    return (client, context) => client.instances.list(filter, context);
  });
  return objects.map((object) => v.parse(foundInstance, object));
}

/** Lists all projects, with the property names of programs. */
export async function findProjects(setting: Setting, sessions: Sessions) {
  const objects = await find(
    projectKind,
    { setting, sessions },
    () => (client, context) => client.projects.list(context),
  );
  return objects.map((object) => v.parse(foundProject, object));
}

interface FunctionCall {
  readonly setting: Setting;
  readonly sessions: Sessions;
  /** The secrets among the arguments. */
  readonly known?: Secrets;
}

type Search = (client: Client, context: Context) => Promise<ApiObject[]>;

async function find(
  kind: Kind,
  { setting, sessions, known }: FunctionCall,
  prepare: () => Search,
): Promise<FoundObject[]> {
  try {
    const search = prepare();
    sessions.configure(setting);
    const session = sessions.open();
    const context = listingContext(kind, session);
    const objects = await search(session.client, context);
    return objects.filter((object) => !isDeleted(object)).map((object) => programProperties(context, object));
  } catch (error) {
    const circumstances = {
      doing: `listing ${kind.name}s`,
      // In the query, each label is a parameter `label.<key>`.
      propertyOf: (wire: string) => (wire === "label" ? "labels" : wire),
      provider: sessions.provider,
      occasion: { verb: "list" },
      secrets: [...(known?.strings ?? []), ...sessions.tokens],
      secretProperties: known?.names,
    } as const;
    const words = formatError(error, circumstances);
    const cause = withoutSecrets(error, circumstances.secrets);
    if (!isCloudInfraError(cause)) throw new Error(words, { cause });
    const { code, problem, status, traceId } = cause;
    throw new CloudInfraError(code, words, { problem, status, traceId, cause });
  }
}

/** An object with the property names of programs. */
type FoundObject = Recorded & { readonly id: string };

/** Returns the remote values of an object, with the property names of programs. */
function programProperties(context: Context, object: ApiObject): FoundObject {
  const values = Object.fromEntries(
    context.kind.fields.map((field) => [field.name, toProgramValue(field, object.fields[field.wire])]),
  );
  return { id: object.id, ...outputsOf(context, object, { hidden: {}, values, words: {}, before: {} }) };
}

const text = v.fallback(v.optional(v.string()), undefined);

/** Parses labels with any keys. `v.record` would drop a label with the key `constructor`. */
const labels = v.pipe(
  v.custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value)),
  v.transform((map): Record<string, string> => {
    const set = Object.entries(map).filter(([, value]) => value !== null && value !== undefined);
    return Object.fromEntries(
      set.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    );
  }),
);

/** Parses an instance that a function returns. Omits values of an unexpected type. */
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

/** Parses a project that a function returns. */
const foundProject = v.object({
  id: v.string(),
  name: text,
  region: text,
  description: text,
  createdAt: text,
});

/** An instance that a function returns. */
export type FoundInstance = v.InferOutput<typeof foundInstance>;

/** A project that a function returns. */
export type FoundProject = v.InferOutput<typeof foundProject>;
