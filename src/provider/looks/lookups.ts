import * as v from "valibot";
import type { ApiObject, Client } from "../../api/client";
import { CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import { withoutSecrets } from "../../diagnostics/redact";
import { formatError } from "../../diagnostics/words";
import { type Context, listingContext } from "../call";
import type { Properties } from "../host";
import { type Secrets, secretsOf } from "../inputs/secrets";
import { instanceKind, type Kind, projectKind } from "../kind";
import { Sessions } from "../session";
import { outputsOf } from "../values/outputs";
import { toProgramValue } from "../values/words";
import { isDeleted } from "./deleted";
import { instanceFilter } from "./filters";
import { foundInstance, foundProject } from "./found";

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
  const known = secretsOf({ ...Object(given), __secrets: secrets });
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
): Promise<Properties[]> {
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

/** An object in the service's words, under the program's names. */
function programProperties(context: Context, object: ApiObject): Properties {
  const values = Object.fromEntries(
    context.kind.fields.map((field) => [field.name, toProgramValue(field, object.fields[field.wire])]),
  );
  return { id: object.id, ...outputsOf(context, object, { hidden: {}, values, words: {}, before: {} }) };
}
