import type { Properties } from "../../../src/model/state";
import { rowsOf } from "../../provider/update/conflict-rows";
import type { Done } from "./somebody";
import { atService, type Fields, inProperties, isLabel, same, type Target, targetsOf } from "./targets";

/** What was known when an update was refused. */
export interface Circumstances {
  readonly olds: Properties;
  readonly news: Properties;
  /** Names of the program's secrets. */
  readonly secrets: readonly string[];
  /** The object's fields at each look since the last request that could have changed it; undefined where it was not there. */
  readonly looks: readonly (Fields | undefined)[];
  /** How often somebody has changed it while the update was under way. */
  readonly changes: number;
  /** What was under way at the service when it answered the requests that change the object, the latest last. */
  readonly busy: readonly ("being deleted" | "being updated" | undefined)[];
  /** Whether an update of the object is still running. */
  readonly isUpdating: boolean;
  /** Whether the object no longer exists. */
  readonly isDeleted: boolean;
  /** Names of properties of which somebody has put back, after our update, what was there before it. */
  readonly undone: readonly string[];
}

export type Refusal =
  | "conflict"
  | "not there"
  | "restless"
  | "unfinished"
  | "undone"
  | "being deleted"
  | "being updated";

/**
 * What an update was refused for, where there is a reason for it.
 *
 * @returns what is wrong, where nothing explains the refusal or its words don't tell all that they have to
 */
export function judged(
  words: string,
  known: Circumstances,
  method: string,
): Refusal | { readonly wrong: string } {
  if (method === "update" && /Run `pulumi up` again, on any machine/.test(words)) return "unfinished";
  if (/\(409\)/.test(words)) {
    const busy = known.busy.at(-1);
    return busy ?? { wrong: "it is neither being deleted nor updated" };
  }
  if (method !== "update") return { wrong: "nothing explains that" };
  if (/ended as "[^"]*": instance_deleted/.test(words))
    // during the update
    return known.isDeleted ? "not there" : { wrong: "nobody has deleted it" };
  if (/no longer exists/.test(words)) {
    if (!words.includes("`pulumi refresh`")) return { wrong: "does not name `pulumi refresh`" };
    return known.looks.includes(undefined) ? "not there" : { wrong: "it is there" };
  }
  const [, unmade, limit] = /accepted the update, but did not change (.*?)( within .*)?$/m.exec(words) ?? [];
  if (limit !== undefined && known.isUpdating) return "unfinished";
  if (unmade !== undefined)
    return unmade.split(", ").every((name) => known.undone.includes(name))
      ? "undone"
      : { wrong: "nobody has undone it" };
  if (
    /rejected\s+the\s+revision\s+of\s+instance\s+\S+\s+4\s+times,\s+although\s+nobody\s+changed/.test(words)
  )
    return known.changes >= 4 ? "restless" : { wrong: `it was changed ${known.changes} times only` };
  if (!/somebody else changed|a reply to this update was lost, and .* changed/.test(words))
    return { wrong: "nothing explains that" };
  const wrong = known.looks.map((look) => wrongIn(words, known, look ?? {}));
  const [first = "nobody has looked"] = wrong;
  return wrong.includes(undefined) ? "conflict" : { wrong: first ?? "" };
}

/** What a three-way table does not tell of a look at the object. */
function wrongIn(words: string, { olds, news, secrets }: Circumstances, look: Fields): string | undefined {
  if (!/Nothing was overwritten\. After `pulumi refresh`/.test(words))
    return "does not name `pulumi refresh`";
  const moved = targetsOf(olds, news).filter((target) => isMoved(target, { olds, news, look }));
  if (moved.length === 0) return `nobody has changed anything: ${JSON.stringify(look)}`;
  const rows = rowsOf(words);
  const [headline = ""] = words.split("\n");
  for (const target of moved) {
    const isSecret = secrets.includes(target);
    const show = (value: unknown): string => (isSecret ? "[secret]" : shown(value));
    const [, known = "", now, desired] = rows.find(([property]) => property === target) ?? [];
    const before = [olds, askedBefore(olds)].map((properties) => show(inProperties(target, properties)));
    const isTold =
      before.some((value) => known.startsWith(value)) &&
      now === show(atService(target, look)) &&
      desired === show(inProperties(target, news));
    // What is set for the first time stands in the table; a conflict it is only where no refresh has seen it.
    const isNamed = inProperties(target, olds) === undefined || headline.includes(target);
    if (!isTold || !isNamed) return `does not tell all of ${target}: ${JSON.stringify(look)}`;
  }
  return undefined;
}

function isMoved(
  target: Target,
  { olds, news, look }: { olds: Properties; news: Properties; look: Fields },
): boolean {
  const now = atService(target, look);
  // A field that a reply does not carry says nothing; a label that is in no map is not there.
  if (now === undefined && !isLabel(target)) return false;
  return [news, olds, askedBefore(olds)].every((known) => !same(now, inProperties(target, known)));
}

/** The state as an update that was cut off would have made it. */
function askedBefore(olds: Properties): Properties {
  return { ...olds, ...Object(Object(olds.__pending).asked) };
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "(not set)";
  if (!Array.isArray(value)) return String(value);
  return value.length === 0 ? "(none)" : value.join(", ");
}

/** Names of properties of which somebody has put back what the state has. */
export function undone(done: readonly Done[], known: Properties, fields: Fields = {}): string[] {
  const set = done.flatMap(({ deed, when }) =>
    deed.kind === "set" && when === "between" ? deed.target : [],
  );
  return set.flatMap((target) =>
    same(atService(target, fields), inProperties(target, known)) ? (target.split(".")[0] ?? []) : [],
  );
}
