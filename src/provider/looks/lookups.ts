import * as v from "valibot";
import type { ApiObject, Client } from "../../api/client";
import { inWords } from "../../diagnostics/words";
import { type Call, lookup } from "../call";
import type { Properties } from "../host";
import { type Secrets, secretsOf } from "../inputs/secrets";
import { instanceKind, type Kind, projectKind } from "../kind";
import { Sessions } from "../session";
import { outputsOf } from "../values/outputs";
import { asValue } from "../values/words";
import { isDeleted } from "./deleted";
import { instanceFilter, projectFilter } from "./filters";
import { foundInstance, foundProject } from "./found";

/** The program's settings: `cloudinfra:…` of the stack. */
type StackSetting = (key: string) => string | undefined;

const byRun = new WeakMap<object, Sessions>();

/** Returns the sessions of one run of a program: all functions of the run share one client, and no other run uses its settings. */
export function sessionsOf(run: object): Sessions {
  const known = byRun.get(run) ?? new Sessions(process.env);
  byRun.set(run, known);
  return known;
}

/**
 * Lists every instance that matches, from all pages, with the property names of programs.
 *
 * @param given the program's arguments, not checked yet
 * @param secrets names of the arguments that are secret
 */
export async function findInstances(
  setting: StackSetting,
  given: unknown,
  sessions: Sessions,
  secrets: readonly string[] = [],
) {
  const known = secretsOf({ ...Object(given), __secrets: secrets });
  const objects = await find(instanceKind, { setting, sessions, known }, () => {
    const { profile, ...filter } = instanceFilter(given, secrets);
    return { profile, list: (client, options) => client.instances.list(filter, options) };
  });
  return objects.map((object) => v.parse(foundInstance, object));
}

/**
 * Lists every project, from all pages, with the property names of programs.
 *
 * @param given the program's arguments, not checked yet
 */
export async function findProjects(setting: StackSetting, given: unknown, sessions: Sessions) {
  const objects = await find(projectKind, { setting, sessions }, () => {
    const { profile } = projectFilter(given);
    return { profile, list: (client, options) => client.projects.list(options) };
  });
  return objects.map((object) => v.parse(foundProject, object));
}

interface Asked {
  readonly setting: StackSetting;
  readonly sessions: Sessions;
  /** Secrets among the arguments. */
  readonly known?: Secrets;
}

/** A list request, and the profile of the settings to send it with. */
interface Search {
  readonly profile: string | undefined;
  readonly list: (client: Client, options: Call) => Promise<ApiObject[]>;
}

async function find(
  kind: Kind,
  { setting, sessions, known }: Asked,
  prepare: () => Search,
): Promise<Properties[]> {
  let profile: string | undefined;
  try {
    const search = prepare();
    profile = search.profile;
    sessions.configure(setting);
    const session = sessions.open(profile);
    const call = lookup(kind, session);
    const objects = await search.list(session.client, call);
    return objects.filter((object) => !isDeleted(object)).map((object) => shown(call, object));
  } catch (error) {
    const circumstances = {
      doing: `listing ${kind.name}s`,
      // The query has `label.<key>` for each label.
      propertyOf: (wire: string) => (wire === "label" ? "labels" : wire),
      profile,
      occasion: { verb: "list" },
      secrets: [...(known?.texts ?? []), ...sessions.tokens],
      secretProperties: known?.names,
    } as const;
    throw new Error(inWords(error, circumstances), { cause: error });
  }
}

/** An object in the service's words, under the program's names. */
function shown(call: Call, object: ApiObject): Properties {
  const values = Object.fromEntries(
    call.kind.fields.map((field) => [field.name, asValue(field, object.fields[field.wire])]),
  );
  return { id: object.id, ...outputsOf(call, object, { hidden: {}, values, words: {}, before: {} }) };
}
