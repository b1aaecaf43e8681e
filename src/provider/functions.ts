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

/** The settings `cloudinfra:…`: of the stack, or of an explicit provider. */
type Setting = (key: string) => string | undefined;

const byOwner = new WeakMap<object, Sessions>();

/**
 * Returns the sessions of one run of a program, or of one explicit provider: all functions that use it share one client, and no other run uses
 * its settings.
 */
export function sessionsOf(owner: object): Sessions {
  const known = byOwner.get(owner) ?? new Sessions(process.env);
  byOwner.set(owner, known);
  return known;
}

/**
 * Lists every instance that matches, from all pages, with the property names of programs.
 *
 * @param given the program's arguments, not checked yet
 * @param secrets names of the arguments that are secret
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

/** Lists every project, from all pages, with the property names of programs. */
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
  /** Secrets among the arguments. */
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
      // The query has `label.<key>` for each label.
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

type FoundObject = Recorded & { readonly id: string };

/** Returns an object's properties by their names in programs. */
function programProperties(context: Context, object: ApiObject): FoundObject {
  const values = Object.fromEntries(
    context.kind.fields.map((field) => [field.name, toProgramValue(field, object.fields[field.wire])]),
  );
  return { id: object.id, ...outputsOf(context, object, { hidden: {}, values, words: {}, before: {} }) };
}

const text = v.fallback(v.optional(v.string()), undefined);

/** Labels, whatever their keys: `v.record` would drop a label with the key `constructor`. */
const labels = v.pipe(
  v.custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value)),
  v.transform((map): Record<string, string> => {
    const set = Object.entries(map).filter(([, value]) => value !== null && value !== undefined);
    return Object.fromEntries(
      set.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    );
  }),
);

/** What a function returns of an instance, with the property names of programs. A value of an unexpected type is left out. */
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

/** What a function returns of a project. */
const foundProject = v.object({
  id: v.string(),
  name: text,
  region: text,
  description: text,
  createdAt: text,
});

/** An instance that a function has found. */
export type FoundInstance = v.InferOutput<typeof foundInstance>;

/** A project that a function has found. */
export type FoundProject = v.InferOutput<typeof foundProject>;
