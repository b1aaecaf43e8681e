import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { parseDuration } from "./durations";

/** A setting's value and, in words, where it stands. */
export interface Found {
  readonly value: string;
  readonly source: string;
}

/** Looks a setting up by its name, without the namespace. */
export type Lookup = (name: string) => Found | undefined;

/** The environment's name of a setting: operationTimeout → CLOUDINFRA_OPERATION_TIMEOUT. */
export function variable(name: string): string {
  return `CLOUDINFRA_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** A value without the white space around it; an empty one is none. */
export function found(value: string | undefined, source: string): Found | undefined {
  return value === undefined || value.trim() === "" ? undefined : { value: value.trim(), source };
}

function invalid(name: string, { source }: Found, wanted: string): never {
  throw new CloudInfraError("config_invalid", `${source} is ${wanted}`, {
    hint: `pulumi config set cloudinfra:${name} …, or the variable ${variable(name)}`,
  });
}

export function duration(name: string, setting: Found | undefined): number | undefined {
  if (setting === undefined) return undefined;
  return (
    parseDuration(setting.value) ?? invalid(name, setting, 'not a duration such as "90s", "30m" or "1h30m"')
  );
}

export function positive(name: string, setting: Found | undefined): number | undefined {
  if (setting === undefined) return undefined;
  const number = Number(setting.value);
  return Number.isFinite(number) && number > 0 ? number : invalid(name, setting, "not a number above zero");
}

export function yesOrNo(name: string, setting: Found | undefined): boolean {
  if (setting === undefined) return false;
  if (setting.value !== "true" && setting.value !== "false")
    return invalid(name, setting, "neither true nor false");
  return setting.value === "true";
}

/** A list is written as JSON by `pulumi config set --path`, and with commas elsewhere. */
export function list(name: string, setting: Found | undefined): string[] {
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
    return invalid(name, setting, "not a list"); // the value itself may not be shown, nor the parser's excerpt of it
  }
  const texts = v.safeParse(v.array(v.string()), parsed);
  return texts.success ? texts.output : invalid(name, setting, "not a list of texts");
}
