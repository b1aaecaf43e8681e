import { randomBytes } from "node:crypto";
import type { Behaviour } from "./behaviour";

/** The kinds of objects that have ids. */
export type IdKind = "project" | "instance" | "operation";

const prefixes = { project: "prj", instance: "ins", operation: "op" } as const;

/** Assigns ids (§2.1, §2.3). Each id is unique among objects of its kind, unless `idReuse` is set. */
export class Ids {
  private readonly assigned: Readonly<Record<IdKind, Set<string>>> = {
    project: new Set(),
    instance: new Set(),
    operation: new Set(),
  };

  /** @param hex returns the given number of random bytes in hexadecimal */
  constructor(
    private readonly hex: (bytes: number) => string = (bytes) => randomBytes(bytes).toString("hex"),
  ) {}

  /** @param isTaken reports whether an object that is visible or being created has the id */
  next({ ids, idReuse }: Behaviour, kind: IdKind, name: unknown, isTaken: (id: string) => boolean): string {
    const assigned = this.assigned[kind];
    for (const id of candidates(ids, kind, name, idReuse ? 0 : assigned.size, this.hex)) {
      if (isTaken(id) || (assigned.has(id) && !idReuse)) continue;
      assigned.add(id);
      return id;
    }
    throw new Error("unreachable: candidates never ends");
  }
}

/** Generates an endless series of ids. A counter continues after `from`. */
function* candidates(
  style: Behaviour["ids"],
  kind: IdKind,
  name: unknown,
  from: number,
  hex: (bytes: number) => string,
): Generator<string> {
  const slug = slugOf(name) || kind;
  for (let number = 1; ; number++) {
    if (style === "counter" || style === "number") yield String(from + number);
    else if (style === "slug" && kind !== "operation") yield number === 1 ? slug : `${slug}-${number}`;
    else if (style === "uuid") yield uuidOf(hex(16));
    else yield `${prefixes[kind]}-${hex(6)}`;
  }
}

function slugOf(name: unknown): string {
  return String(name ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

function uuidOf(hex: string): string {
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) & 3];
  const digits = `${hex.slice(0, 12)}4${hex.slice(13, 16)}${variant}${hex.slice(17, 32)}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
