import { readFileSync } from "node:fs";
import * as v from "valibot";
import type { Behaviour } from "./behaviour";
import { parseBehaviour } from "./options";

/** The version of the profile format. Later formats have different versions. */
const VERSION = 1;

const profile = v.strictObject({
  version: v.literal(VERSION, `must be ${VERSION}`),
  behaviour: v.record(v.string(), v.unknown()),
});

/** Returns the text of a profile, which contains the switches that make the emulator behave like an observed service. */
export function profileText(behaviour: Partial<Behaviour>): string {
  return `${JSON.stringify({ version: VERSION, behaviour }, null, 2)}\n`;
}

/**
 * Reads the switches from a profile written by `npx pulumi-cloudinfra probe --out <file>`.
 *
 * @param file the path to the profile
 * @throws TypeError with the name of the file and the problem
 */
export function readProfile(file: string): Partial<Behaviour> {
  const invalid = (why: string): TypeError => new TypeError(`the profile ${file} is invalid: ${why}`);
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw invalid(error instanceof SyntaxError ? "it isn't JSON" : "it can't be read");
  }
  const parsed = v.safeParse(profile, content);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw invalid(`${v.getDotPath(issue) ?? "the content"}: ${issue.message}`);
  }
  const switches = Object.entries(parsed.output.behaviour).map(([key, value]) => {
    const result = parseBehaviour(key, textOf(value));
    if ("error" in result) throw invalid(result.error);
    return result.behaviour;
  });
  return Object.assign({}, ...switches);
}

/** Returns the value of a switch in the form that `--behaviour` accepts. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(",");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}
