// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expressions of Pulumi's patterns
import { hash } from "node:crypto";
import { v4 as uuidV4 } from "uuid";
import type { Kind } from "./kinds";
import type { Properties } from "./state";
import { hiddenOf, resourceName } from "./state";
import { isUnknown, UNKNOWN } from "./unknown";

const KEY_DIGITS = 7;

/**
 * Returns the generated name of a resource for which the program gives none. It is kept from then on, also if the setting
 * `pulumi:autonaming` changes. The hidden input with that setting is taken out, so that it doesn't get into the state.
 */
export function generatedNameInputs(kind: Kind, olds: Properties, news: Properties): Properties {
  return { ...generatedName(kind, olds, news), ...("__autonaming" in news && { __autonaming: undefined }) };
}

function generatedName(kind: Kind, olds: Properties, news: Properties): Properties {
  if (news.name !== undefined || isMissing(olds, news)) return {};
  const { __autonamed } = hiddenOf(olds);
  if (hasGeneratedName(olds)) return { name: olds.name, ...(__autonamed && { __autonamed }) };
  // The next check recognizes a name without a pattern by its ending.
  const isMarked = news.__autonaming !== undefined || hiddenOf(olds).__key === undefined;
  return { ...newGeneratedName(kind, olds, news), ...(isMarked && { __autonamed: true }) };
}

/** Returns what is wrong with a resource that has no name, if `pulumi:autonaming` says that names are not generated. */
export function nameFailures(olds: Properties, news: Properties): string[] {
  return isMissing(olds, news)
    ? ["name: is required, because pulumi:autonaming is set to the mode disabled"]
    : [];
}

function isMissing(olds: Properties, news: Properties): boolean {
  return news.__autonaming === false && news.name === undefined && !hasGeneratedName(olds);
}

/**
 * Makes a name of the resource's name and its idempotency key, so that a retried creation requests the same name. If a part of the name is
 * random, it is unknown while the key is, so that a preview never shows a name that `up` will not use.
 */
function newGeneratedName(kind: Kind, olds: Properties, news: Properties): Properties {
  const hidden = hiddenOf(news);
  const key = hiddenOf(olds).__key ?? hidden.__key;
  const name = resourceName(hidden) || kind.name;
  const knownKey = key === undefined || isUnknown(key) ? undefined : key;
  const { __autonaming: pattern } = news;
  if (typeof pattern === "string") return { name: fillPattern(pattern, name, knownKey) ?? UNKNOWN };
  return { name: knownKey === undefined ? UNKNOWN : name + nameSuffix(knownKey) };
}

/** Whether a resource's name was made up, and not given by the program; somebody may have changed it since. */
function hasGeneratedName(inputs: Properties): boolean {
  const { __key: key, __autonamed } = hiddenOf(inputs);
  if (key === undefined || typeof inputs.name !== "string") return false;
  return __autonamed === true || inputs.name.endsWith(nameSuffix(key));
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

/** Fills in a pattern as Pulumi's engine does. Returns `undefined` if the pattern has random parts and the key is unknown. */
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

/** Whether two names are equal, at least as normalized by the service. */
export function isSameName(one: unknown, other: unknown): boolean {
  return (
    typeof one === "string" &&
    typeof other === "string" &&
    one.trim().toLowerCase() === other.trim().toLowerCase()
  );
}
