import * as v from "valibot";

const text = v.fallback(v.optional(v.string()), undefined);
const record = v.fallback(v.optional(v.record(v.string(), v.unknown())), undefined);

const timeouts = v.fallback(v.optional(v.object({ create: text, update: text, delete: text })), undefined);
const flag = v.fallback(v.optional(v.boolean()), undefined);
const names = v.fallback(v.optional(v.array(v.string())), undefined);

/**
 * The hidden properties. Every state that was ever written must be read: whatever is missing or of another form is
 * taken as absent.
 */
const hiddenProperties = v.object({
  __urn: text,
  __key: text,
  /** When the key was made, in milliseconds since 1970: a key may be used for 24 hours (§4.7). */
  __keyAt: v.fallback(v.optional(v.number()), undefined),
  __timeouts: timeouts,
  __secrets: names,
  /** Only among the inputs of a program: URNs that the resource had before. */
  __aliasUrns: names,
  /** The stack's organization, if its backend has organizations. */
  __organization: text,
  /** Folder of Pulumi's project file, from the program's folder, if that isn't in it. */
  __projectFolder: text,
  /** Only among the inputs of a program: the properties that the option `ignoreChanges` lists. */
  __ignoreChanges: names,
  /** Only among the inputs of a program: the properties that the option `replaceOnChanges` lists. */
  __replaceOnChanges: names,
  /** Only among the inputs of a program: whether it has the option `retainOnDelete`. */
  __retainOnDelete: flag,
  /** Id of the object that the `import` option tells to take over. */
  __import: text,
  /** Whether the name was made up. */
  __autonamed: flag,
  __endpoint: text,
  /** Only among outputs: whether create returned an object that existed. The state may still have another record of it, to be deleted. */
  __resumed: flag,
  /** Only among outputs: whether only the reply to the creation request has shown the object so far. */
  __echoed: flag,
  /** Only among outputs: the names of those that hold, repeat or are derived from an argument that was secret before. */
  __sealed: names,
  __words: record,
  /** Only among outputs: of the properties that somebody has changed since, the value that was applied last, and its word. */
  __applied: record,
  /** Only among outputs: what the program says now, where that is not what the inputs keep. */
  __now: v.fallback(
    v.optional(
      v.object({
        __urn: text,
        __timeouts: timeouts,
        __secrets: names,
        __autonamed: flag,
        __organization: text,
        __projectFolder: text,
      }),
    ),
    undefined,
  ),
  /** Digests of what the object had in fields that the program does not set, when it was last seen. */
  __unmanaged: record,
  /** Only among outputs: names of the properties that the object's own address has shown since they were applied. */
  __shown: names,
  /** Only among outputs: whether the service has shown a label key with capital letters as the program has it. */
  __keepsCase: flag,
  /** Only among outputs: whether a field with a usual name for the revision holds something else, because the ETag header has another one. */
  __inHeader: flag,
  revision: text,
});

/** What the provider keeps of a resource beside its arguments. */
export type Hidden = v.InferOutput<typeof hiddenProperties>;

export function hiddenOf(properties: Properties): Hidden {
  const hidden = v.parse(hiddenProperties, properties);
  return { ...hidden, ...pickCurrentValues(hidden.__now ?? hidden) };
}

/** The hidden inputs as the state's inputs have them, which need not be what the program says now. */
export function hiddenInputs(properties: Properties): Properties {
  const { __key, __keyAt, __import, ...others } = v.parse(hiddenProperties, properties);
  return { __key, __keyAt, __import, ...pickCurrentValues(others) };
}

/** What the program says of a resource beside its arguments, and may say otherwise at the next run. */
export type CurrentValues = NonNullable<Hidden["__now"]>;

export function currentValuesOf(properties: Properties): CurrentValues {
  return pickCurrentValues(hiddenOf(properties));
}

function pickCurrentValues({
  __urn,
  __timeouts,
  __secrets,
  __autonamed,
  __organization,
  __projectFolder,
}: CurrentValues): CurrentValues {
  return { __urn, __timeouts, __secrets, __autonamed, __organization, __projectFolder };
}

/** The hidden outputs that go with the hidden inputs. */
export function hiddenOutputs(properties: Properties): Properties {
  return { ...hiddenInputs(properties), __now: v.parse(hiddenProperties, properties).__now };
}

/** The resource's name in the program: what follows stack, project and type in its URN; it may hold colons too. */
export function resourceName(hidden: Hidden): string | undefined {
  return hidden.__urn?.split("::").slice(3).join("::");
}

/** What is nested deeper than this is left out: no reply may be able to fail a creation by its form. */
const MAX_DEPTH = 64;

/**
 * Properties as the host can bear them: an `undefined` anywhere in them makes it fail a create that succeeded, or hang,
 * and a date or a class instance becomes something else. The one place where all outputs and inputs pass.
 */
export function toPlainJson(properties: Properties): Properties {
  return toPlainMap(properties, 0);
}

function toPlainMap(map: object, depth: number): Properties {
  return Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => {
      const kept = toPlainValue(value, depth + 1);
      return kept === undefined ? [] : [[key, kept]];
    }),
  );
}

function toPlainValue(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return undefined;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return undefined;
  if (Array.isArray(value)) return value.map((item) => toPlainValue(item, depth + 1) ?? null);
  if (typeof value === "object" && value !== null) return toPlainMap(value, depth);
  return typeof value === "function" || typeof value === "symbol" ? undefined : value;
}

/** Properties as the host hands them over and takes them back: plain JSON, unknown until parsed. */
export type Properties = Record<string, unknown>;
