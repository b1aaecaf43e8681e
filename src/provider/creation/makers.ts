import type { ApiObject } from "../../api/client";
import type { Entry } from "../../journal/entry";
import { isTerminal } from "../../operations/operation";
import type { Call } from "../call";
import type { Properties } from "../host";
import { isUrnOf } from "../kind";
import { type Field, idOf } from "../values/fields";
import { lookAt } from "./being-made";
import { argumentsSent } from "./pending";

/** An unfinished creation that may have made an object which `import` names. */
export interface Maker {
  readonly key: string;
  /** `certain`: its operation, or its record, names the object. `alike`: its request asked for such an object. `named`: for one of that name. */
  readonly evidence: "certain" | "alike" | "named";
}

/** Returns the unfinished creations, of this or of another resource, that may have made an object which `import` names. */
export async function makersOf(call: Call, object: ApiObject, inputs: Properties): Promise<Maker[]> {
  const { fields } = call.kind;
  const makers: Maker[] = [];
  for (const entry of await call.session.journal.list()) {
    if (!isUrnOf(call.kind, entry.urn)) continue;
    const made = entry.id ?? (await madeBy(call, entry));
    const sent = argumentsSent(fields, entry) ?? {};
    // The import may rename the object, and the service may show it in another form than the program gives it.
    const isSame = ({ name, wire }: Field): boolean =>
      [inputs[name], object.fields[wire]].some((one) => lastStep(one) === lastStep(sent[name]));
    const isNamed = fields.filter(({ name }) => ["name", "project"].includes(name)).every(isSame);
    const isAlike = isNamed && fields.filter(({ change }) => change === "replace").every(isSame);
    if (made === object.id) makers.push({ key: entry.key, evidence: "certain" });
    else if (made === undefined && isNamed)
      makers.push({ key: entry.key, evidence: isAlike ? "alike" : "named" });
  }
  return makers;
}

/** Returns the id of the object that a creation has made, if its operation tells: one that still runs may name another object in the end. */
async function madeBy(call: Call, { operation }: Entry): Promise<string | undefined> {
  // The import doesn't fail because of another resource's operation: the object is then treated as one that it may have made.
  const seen = operation && (await lookAt(call, operation).catch(() => undefined));
  return seen && isTerminal(seen) ? call.session.client.resultId(seen) : undefined;
}

/** A value as it can be compared: the id in a path, in lower case. */
const lastStep = (value: unknown): string | undefined =>
  String(idOf(value) ?? "")
    .split("/")
    .at(-1)
    ?.trim()
    .toLowerCase();

/** Once the state has an object, no unfinished creation may delete it as its own (I3). */
export async function releaseFrom(makers: readonly Maker[], { session }: Call, id: string): Promise<void> {
  for (const { key, evidence } of makers) {
    if (evidence === "certain") await session.journal.remove(key);
    else await session.journal.note(key, { isLate: true, ...(evidence === "alike" && { id }) });
  }
}
