import type { Properties } from "../../../src/model/state";
import { rowsOf } from "../../provider/update/conflict-table-rows";
import type { Done } from "./somebody";
import { atService, type Fields, inProperties, isLabel, same, type Target, targetsOf } from "./targets";

/** The circumstances of a failed update. */
export interface Circumstances {
  readonly olds: Properties;
  readonly news: Properties;
  /** The names of the program's secrets. */
  readonly secrets: readonly string[];
  /** The object's fields at each read since the last request that could have changed it, or undefined if it didn't exist. */
  readonly looks: readonly (Fields | undefined)[];
  /** How often somebody changed the object while the update was running. */
  readonly changes: number;
  /** The running operation on the object at the reply to each request that changes it, in order. */
  readonly busy: readonly ("being deleted" | "being updated" | undefined)[];
  /** Whether an update of the object is still running. */
  readonly isUpdating: boolean;
  /** Whether the object no longer exists. */
  readonly isDeleted: boolean;
  /** The properties whose former value somebody restored after the update. */
  readonly undone: readonly string[];
}

export type Refusal =
  | "conflict"
  | "not found"
  | "keeps changing"
  | "unfinished"
  | "undone"
  | "being deleted"
  | "being updated";

/**
 * Returns why an update failed, if there is a valid reason.
 *
 * @returns what is wrong if nothing explains the failure, or if the message is incomplete
 */
export function judged(
  words: string,
  known: Circumstances,
  method: string,
): Refusal | { readonly wrong: string } {
  if (method === "update" && /Run `pulumi up` again,? on any machine/.test(words)) return "unfinished";
  if (/\(409\)/.test(words)) {
    const busy = known.busy.at(-1);
    return busy ?? { wrong: "the object is neither being deleted nor updated" };
  }
  if (method !== "update") return { wrong: "nothing explains the failure" };
  if (/ended with status "[^"]*": instance_deleted/.test(words))
    // During the update.
    return known.isDeleted ? "not found" : { wrong: "nobody deleted the object" };
  if (/no longer exists/.test(words)) {
    if (!words.includes("`pulumi refresh")) return { wrong: "the message doesn't name `pulumi refresh`" };
    return known.looks.includes(undefined) ? "not found" : { wrong: "the object exists" };
  }
  const [, unmade, limit] = /accepted the update, but did not change (.*?)( within .*)?$/m.exec(words) ?? [];
  if (limit !== undefined && known.isUpdating) return "unfinished";
  if (unmade !== undefined)
    return unmade.split(", ").every((name) => known.undone.includes(name))
      ? "undone"
      : { wrong: "nobody restored the former value" };
  if (
    /rejected\s+the\s+revision\s+of\s+instance\s+\S+\s+4\s+times,\s+although\s+nobody\s+changed/.test(words)
  )
    return known.changes >= 4 ? "keeps changing" : { wrong: `it was changed only ${known.changes} times` };
  if (!/another client changed|a reply to this update was lost, and .* changed/.test(words))
    return { wrong: "nothing explains the failure" };
  const wrong = known.looks.map((look) => wrongIn(words, known, look ?? {}));
  const [first = "nothing read the object"] = wrong;
  return wrong.includes(undefined) ? "conflict" : { wrong: first ?? "" };
}

/** Returns what the three-way table doesn't show of the object at a read. */
function wrongIn(words: string, { olds, news, secrets }: Circumstances, look: Fields): string | undefined {
  if (!/To (apply|replace) .*\s+run\s+`pulumi\s+refresh/s.test(words))
    return "the message doesn't name `pulumi refresh`";
  const moved = targetsOf(olds, news).filter((target) => isMoved(target, { olds, news, look }));
  if (moved.length === 0) return `nobody changed anything: ${JSON.stringify(look)}`;
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
    // The table also shows properties that the program sets for the first time. They are a conflict only if no refresh
    // has shown them.
    const isNamed = inProperties(target, olds) === undefined || headline.includes(target);
    if (!isTold || !isNamed)
      return `the message doesn't show everything about ${target}: ${JSON.stringify(look)}`;
  }
  return undefined;
}

function isMoved(
  target: Target,
  { olds, news, look }: { olds: Properties; news: Properties; look: Fields },
): boolean {
  const now = atService(target, look);
  // A missing field is unknown, but a label that is missing from the map doesn't exist.
  if (now === undefined && !isLabel(target)) return false;
  return [news, olds, askedBefore(olds)].every((known) => !same(now, inProperties(target, known)));
}

/** Returns the state that an interrupted update would have produced. */
function askedBefore(olds: Properties): Properties {
  return { ...olds, ...Object(Object(olds.__pending).asked) };
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "(not set)";
  if (!Array.isArray(value)) return String(value);
  return value.length === 0 ? "(none)" : value.join(", ");
}

/** Returns the names of properties for which somebody restored the state's value. */
export function undone(done: readonly Done[], known: Properties, fields: Fields = {}): string[] {
  const set = done.flatMap(({ deed, when }) =>
    deed.kind === "set" && when === "between" ? deed.target : [],
  );
  return set.flatMap((target) =>
    same(atService(target, fields), inProperties(target, known)) ? (target.split(".")[0] ?? []) : [],
  );
}
