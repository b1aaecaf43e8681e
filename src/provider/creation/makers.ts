import type { ApiObject } from "../../api/client";
import type { Entry } from "../../journal/entry";
import { isTerminal } from "../../operations/operation";
import type { Call } from "../call";
import type { Properties } from "../host";
import { isUrnOf } from "../kind";
import { isSameName } from "../updates/renamed";
import { idOf } from "../values/fields";
import { lookAt } from "./being-made";
import { sentFields } from "./pending";

/** An unfinished creation that has made an object which `import` names, or that may have made it. */
export interface Maker {
  readonly key: string;
  readonly isCertain: boolean;
}

/** Returns the unfinished creations, of this or of another resource, that may have made an object which `import` names. */
export async function makersOf(call: Call, { id, fields }: ApiObject, inputs: Properties): Promise<Maker[]> {
  const makers: Maker[] = [];
  for (const entry of await call.session.journal.list()) {
    if (!isUrnOf(call.kind, entry.urn)) continue;
    const made = entry.id ?? (await madeBy(call, entry));
    const sent = sentFields(entry);
    // The import may rename the object, and the service may show both in another form than the program gives them.
    const isAlike =
      [inputs.name, fields.name].some((name) => isSameName(name, sent.name)) &&
      [inputs.project, idOf(fields.project)].some((project) => lastStep(project) === lastStep(sent.project));
    if (made === id || (made === undefined && isAlike))
      makers.push({ key: entry.key, isCertain: made === id });
  }
  return makers;
}

/** Returns the id of the object that a creation has made, if its operation tells: one that still runs may name another object in the end. */
async function madeBy(call: Call, { operation }: Entry): Promise<string | undefined> {
  // The import doesn't fail because of another resource's operation: the object is then treated as one that it may have made.
  const seen = operation && (await lookAt(call, operation).catch(() => undefined));
  return seen && isTerminal(seen) ? call.session.client.resultId(seen) : undefined;
}

/** The id in a project's path. */
const lastStep = (project: unknown): string | undefined => String(project).split("/").at(-1);

/** Once the state has an object, no unfinished creation may delete it as its own (I3). That it has made the object would only be a guess. */
export async function releaseFrom(makers: readonly Maker[], { session }: Call): Promise<void> {
  for (const { key, isCertain } of makers) {
    if (isCertain) await session.journal.remove(key);
    else await session.journal.note(key, { isLate: true });
  }
}
