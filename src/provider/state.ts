import * as v from "valibot";
import type { Properties } from "./host";

const text = v.fallback(v.optional(v.string()), undefined);
const record = v.fallback(v.optional(v.record(v.string(), v.unknown())), undefined);

/**
 * The hidden properties. Every state that was ever written must be read: whatever is missing or of another form is
 * taken as absent.
 */
const hiddenProperties = v.object({
  __urn: text,
  __key: text,
  /** When the key was made, in milliseconds since 1970: a key may be used for 24 hours (§4.7). */
  __keyAt: v.fallback(v.optional(v.number()), undefined),
  __timeouts: v.fallback(v.optional(v.object({ create: text, update: text, delete: text })), undefined),
  __secrets: v.fallback(v.optional(v.array(v.string())), undefined),
  /** Id of the object that the `import` option tells to take over. */
  __import: text,
  __autonamed: v.fallback(v.optional(v.boolean()), undefined),
  __endpoint: text,
  __words: record,
  revision: text,
});

/** What the provider keeps of a resource beside its arguments. */
export type Hidden = v.InferOutput<typeof hiddenProperties>;

export function hiddenOf(properties: Properties): Hidden {
  return v.parse(hiddenProperties, properties);
}

/** The hidden inputs, as they go into the state and, after a refresh, back among the inputs. */
export function hiddenInputs(hidden: Hidden): Properties {
  const { __urn, __key, __timeouts, __secrets, __autonamed } = hidden;
  return { __urn, __key, __timeouts, __secrets, __autonamed };
}

/** The resource's name in the program: what follows stack, project and type in its URN; it may hold colons too. */
export function resourceName(hidden: Hidden): string | undefined {
  return hidden.__urn?.split("::").slice(3).join("::");
}
