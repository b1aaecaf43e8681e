import * as v from "valibot";
import type { ApiObject, Client } from "../../api/client";
import { inWords } from "../../diagnostics/words";
import { type Call, lookup } from "../call";
import type { Properties } from "../host";
import { instanceKind, type Kind, projectKind } from "../kind";
import { Sessions } from "../session";
import { outputsOf } from "../values/outputs";
import { asValue } from "../values/words";
import { foundInstance, foundProject } from "./found";

/** Which instances to look for, by whose settings (§4.4); all that are given must hold. */
export interface InstanceFilter {
  readonly profile?: string | undefined;
  readonly project?: string | undefined;
  readonly status?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** The program's settings: `cloudinfra:…` of the stack. */
type StackSetting = (key: string) => string | undefined;

/** One a program: all functions share one client. */
const shared = new Sessions(process.env);

/** Every instance that matches, from all pages, under the program's names. */
export async function findInstances(
  setting: StackSetting,
  { profile, ...filter }: InstanceFilter,
  sessions = shared,
) {
  const objects = await find(instanceKind, { setting, profile, sessions }, (client, options) =>
    client.instances.list(filter, options),
  );
  return objects.map((object) => v.parse(foundInstance, object));
}

/** Every project, from all pages. */
export async function findProjects(setting: StackSetting, sessions = shared, profile?: string) {
  const objects = await find(projectKind, { setting, profile, sessions }, (client, options) =>
    client.projects.list(options),
  );
  return objects.map((object) => v.parse(foundProject, object));
}

interface Asked {
  readonly setting: StackSetting;
  readonly profile: string | undefined;
  readonly sessions: Sessions;
}

async function find(
  kind: Kind,
  { setting, profile, sessions }: Asked,
  list: (client: Client, options: Call) => Promise<ApiObject[]>,
): Promise<Properties[]> {
  let secrets: readonly string[] = [];
  try {
    sessions.configure(setting);
    const session = sessions.open(profile);
    secrets = session.client.tokens;
    const call = lookup(kind, session);
    const objects = await list(session.client, call);
    return objects.map((object) => shown(call, object));
  } catch (error) {
    const propertyOf = (wire: string) => kind.fields.find((field) => field.wire === wire)?.name ?? wire;
    throw new Error(inWords(error, { doing: `listing ${kind.name}s`, propertyOf, profile, secrets }), {
      cause: error,
    });
  }
}

/** An object in the service's words, under the program's names. */
function shown(call: Call, object: ApiObject): Properties {
  const values = Object.fromEntries(
    call.kind.fields.map((field) => [field.name, asValue(field, object.fields[field.wire])]),
  );
  return { id: object.id, ...outputsOf(call, object, { hidden: {}, values, words: {}, before: {} }) };
}
