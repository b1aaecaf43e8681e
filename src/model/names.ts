// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expressions of Pulumi's patterns
import { hash } from "node:crypto";
import { v4 as uuidV4 } from "uuid";
import { type Arguments, isUnknown, type Kind, UNKNOWN } from "./resource-fields";
import { type Declared, type HiddenInputs, resourceName } from "./state";

const KEY_DIGITS = 7;

export type NamedInputs = Pick<Arguments, "name"> & Pick<HiddenInputs, "key" | "isAutonamed">;

/** Returns the generated name of a resource. The name never changes, even if the setting `pulumi:autonaming` changes. */
export function generatedName(
  kind: Kind,
  olds: NamedInputs,
  news: Declared,
): Pick<NamedInputs, "name" | "isAutonamed"> {
  if (news.given.name !== undefined || isMissing(olds, news)) return {};
  if (hasGeneratedName(olds)) return { name: olds.name, ...(olds.isAutonamed && { isAutonamed: true }) };
  // A name that follows no pattern needs no mark, because the next check recognizes the suffix of the name.
  const isMarked = news.autonaming !== undefined || olds.key === undefined;
  return { name: newName(kind, olds, news), ...(isMarked && { isAutonamed: true }) };
}

/** Returns a failure if a resource has no name and `pulumi:autonaming` disables generated names. */
export function nameFailures(olds: NamedInputs, news: Declared): string[] {
  return isMissing(olds, news) ? ["name: is required, because pulumi:autonaming has the mode disabled"] : [];
}

function isMissing(olds: NamedInputs, news: Declared): boolean {
  return news.autonaming === false && news.given.name === undefined && !hasGeneratedName(olds);
}

/** Generates the same name for each retry. If the key is unknown, a name with random parts is also unknown, so previews are truthful. */
function newName(kind: Kind, olds: NamedInputs, news: Declared): string {
  const key = olds.key ?? news.key;
  const name = resourceName(news.urn) || kind.name;
  const knownKey = key === undefined || isUnknown(key) ? undefined : key;
  const { autonaming: pattern } = news;
  if (typeof pattern === "string") return fillPattern(pattern, name, knownKey) ?? UNKNOWN;
  return knownKey === undefined ? UNKNOWN : name + nameSuffix(knownKey);
}

/** Reports whether a replacement would have the same generated name, because the name has no random part. */
export function keepsName(kind: Kind, olds: NamedInputs | undefined, news: Declared): boolean {
  return newName(kind, {}, { ...news, key: undefined }) === olds?.name;
}

/** Reports whether the provider generated the name of a resource. The name may have been changed since then. */
function hasGeneratedName({ key, name, isAutonamed }: NamedInputs): boolean {
  if (key === undefined || name === undefined) return false;
  return isAutonamed === true || hasRandomName({ key, name });
}

/** Reports whether a name contains the random characters of the resource's key, so that no other object has this name. */
export function hasRandomName({ key, name }: NamedInputs): boolean {
  return key !== undefined && name?.endsWith(nameSuffix(key)) === true;
}

const nameSuffix = (key: string): string => `-${key.slice(0, KEY_DIGITS)}`;

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const ALPHABETS = new Map([
  ["hex", `${DIGITS}abcdef`],
  ["alphanum", LETTERS + DIGITS],
  ["string", LETTERS],
  ["num", DIGITS],
]);

/** Fills in a naming pattern like Pulumi's engine. Returns `undefined` if the pattern has random parts but the key is unknown. */
function fillPattern(pattern: string, name: string, key: string | undefined): string | undefined {
  const parts = pattern.split(/(\$\{(?:name|uuid|(?:hex|alphanum|string|num)\(\d+\))\})/);
  const filled = parts.map((part, index) => {
    if (index % 2 === 0) return part;
    if (part === "${name}") return name;
    return key === undefined ? undefined : randomPart(part, `${key} ${index}`);
  });
  return filled.includes(undefined) ? undefined : filled.join("");
}

function randomPart(expression: string, seed: string): string {
  if (expression === "${uuid}") return uuidV4({ random: hash("sha256", seed, "buffer") });
  const [, type = "", length = ""] = /(\w+)\((\d+)\)/.exec(expression) ?? [];
  const alphabet = ALPHABETS.get(type) ?? "";
  const character = (_: unknown, at: number): string =>
    alphabet.charAt(hash("sha256", `${seed} ${at}`, "buffer").readUInt32BE() % alphabet.length);
  return Array.from({ length: Number(length) }, character).join("");
}

/** Returns the Latin letters and the digits of a name or an id, in lower case and without accents. */
export function plainCharacters(text: unknown): string {
  return (typeof text === "object" ? "" : String(text ?? ""))
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
}

export function isSameName(one: unknown, other: unknown): boolean {
  return (
    typeof one === "string" &&
    typeof other === "string" &&
    one.trim().toLowerCase() === other.trim().toLowerCase()
  );
}
