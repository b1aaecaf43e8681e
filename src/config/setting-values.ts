import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { parseDuration } from "../polling/clock";

/** A setting's value and, in words, where it stands. */
export interface FoundSetting {
  readonly value: string;
  readonly source: string;
  /** What sets it to something else. */
  readonly fix: string;
}

/** Looks a setting up by its name, without the namespace. */
export type SettingLookup = (name: string) => FoundSetting | undefined;

/** The environment's name of a setting: operationTimeout → CLOUDINFRA_OPERATION_TIMEOUT. */
export function variableName(name: string): string {
  return `CLOUDINFRA_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** A value without the white space around it; an empty one is none. */
export function foundSetting(
  value: string | undefined,
  source: string,
  fix: string,
): FoundSetting | undefined {
  return value === undefined || value.trim() === "" ? undefined : { value: value.trim(), source, fix };
}

/** What sets a setting of the stack. The variable doesn't correct one, because the stack takes precedence. */
export function stackFix(name: string, example = " …"): string {
  return `pulumi config set${flagFor(name)} cloudinfra:${name}${example}`;
}

/** What sets a setting that the stack lacks. */
export function fixOf(name: string, example?: string): string {
  return `${stackFix(name, example)}, or the variable ${variableName(name)}`;
}

/** What sets an argument of an explicit provider. */
export function argumentFix(name: string, provider: string): string {
  return `Pass \`${name}\` to the provider "${provider}" in the program, and run \`pulumi up\``;
}

/** The option of `pulumi config set` for a setting: without one, the CLI may take any value for a secret if the name has "token" in it. */
function flagFor(name: string): string {
  if (name === "token" || name === "oidcClientSecret") return " --secret";
  return /token/i.test(name) ? " --plaintext" : "";
}

function invalid({ source, fix }: FoundSetting, wanted: string): never {
  throw new CloudInfraError("config_invalid", `${source} is ${wanted}`, { hint: fix });
}

export function parseDurationSetting(setting: FoundSetting | undefined): number | undefined {
  if (setting === undefined) return undefined;
  return parseDuration(setting.value) ?? invalid(setting, 'not a duration such as "90s", "30m" or "1h30m"');
}

export function parsePositiveNumber(setting: FoundSetting | undefined): number | undefined {
  if (setting === undefined) return undefined;
  const number = Number(setting.value);
  return Number.isFinite(number) && number > 0 ? number : invalid(setting, "not a number above zero");
}

export function parseBoolean(setting: FoundSetting | undefined): boolean {
  if (setting === undefined) return false;
  if (setting.value !== "true" && setting.value !== "false")
    return invalid(setting, "neither true nor false");
  return setting.value === "true";
}

/** A list is written as JSON by `pulumi config set --path`, and with commas elsewhere. */
export function parseList(setting: FoundSetting | undefined): string[] {
  if (setting === undefined) return [];
  if (!setting.value.startsWith("["))
    return setting.value
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean);
  let parsed: unknown;
  try {
    parsed = JSON.parse(setting.value);
  } catch {
    return invalid(setting, "not a list"); // the value itself may not be shown, nor the parser's excerpt of it
  }
  const texts = v.safeParse(v.array(v.string()), parsed);
  return texts.success ? texts.output : invalid(setting, "not a list of texts");
}
