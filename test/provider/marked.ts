import type { Properties } from "../../src/model/state";

/** Whether a provider has marked a value as secret for the engine. */
export function isMarked(value: unknown): value is { readonly value: unknown } {
  return Object(value)["4dabf18193072939515e22adb298388d"] === "1b47061264138c4ac30d75fd1eb44270";
}

/** Returns properties with their secret values in plaintext, as the engine passes them to the provider. */
export function unmarked(properties: Properties): Properties {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, isMarked(value) ? value.value : value]),
  );
}
