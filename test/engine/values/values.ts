import { UNKNOWN } from "../../harness/engine";

/** Property values in the engine: JSON, plus secrets, unknown values and resources. */
export type Value =
  | null
  | boolean
  | number
  | string
  | readonly Value[]
  | Values
  | Secret
  | Unknown
  | Reference;

export interface Values {
  readonly [key: string]: Value;
}

export class Secret {
  constructor(readonly value: Value) {}
}

export class Unknown {
  readonly kind = "unknown";
}

/** A resource that is passed as a value. */
export class Reference {
  constructor(
    readonly urn: string,
    readonly id: Value | undefined,
  ) {}
}

export const unknown = new Unknown();

/** The text for an unknown value, including an unknown id. */
export const unknownText = UNKNOWN;

const signatureKey = "4dabf18193072939515e22adb298388d";
const secretSignature = "1b47061264138c4ac30d75fd1eb44270";
const referenceSignature = "5cf8f73096256a8f31e491e813e4eb8e";
const outputSignature = "d0e6a833031e9bbcd3f4e8bde6ca49a4";

// The SDK has one text for each type of an unknown value. All of them mean "unknown".
const unknownTexts = new Set([
  unknownText,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
]);

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export function isMap(value: unknown): value is Values {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Secret) &&
    !(value instanceof Unknown) &&
    !(value instanceof Reference)
  );
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Decodes a value from a message or from a state file. */
export function decode(json: unknown): Value {
  if (json === null || json === undefined) return null;
  if (typeof json === "string") return unknownTexts.has(json) ? unknown : json;
  if (typeof json === "number" || typeof json === "boolean") return json;
  if (Array.isArray(json)) return json.map(decode);
  if (typeof json !== "object") throw new TypeError(`not a property value: ${typeof json}`);
  const map = new Map(Object.entries(json));
  switch (map.get(signatureKey)) {
    case secretSignature:
      return decodeSecret(map);
    case referenceSignature:
      return new Reference(String(map.get("urn")), map.has("id") ? decode(map.get("id")) : undefined);
    case outputSignature: {
      const value = map.has("value") ? decode(map.get("value")) : unknown;
      return map.get("secret") === true ? new Secret(value) : value;
    }
    default:
      return decodeMap(json);
  }
}

function decodeSecret(map: Map<string, unknown>): Secret {
  if (map.has("value")) return new Secret(decode(map.get("value")));
  const plaintext = map.get("plaintext");
  if (typeof plaintext === "string") return new Secret(decode(JSON.parse(plaintext)));
  throw new TypeError("a secret in this state is encrypted: export it with --show-secrets");
}

export function decodeMap(json: unknown): Values {
  if (typeof json !== "object" || json === null) return {};
  const values: Record<string, Value> = {};
  for (const [key, value] of Object.entries(json)) if (value !== undefined) values[key] = decode(value);
  return values;
}

export interface Encoding {
  /** `hidden` for events, `wrapped` for the program, `clear` for a provider, `plaintext` for a state file. */
  readonly secrets: "wrapped" | "clear" | "plaintext" | "hidden";
  readonly references: "wrapped" | "id";
}

export const forProgram: Encoding = { secrets: "wrapped", references: "wrapped" };
export const forProvider: Encoding = { secrets: "clear", references: "id" };
export const forConfigure: Encoding = { secrets: "wrapped", references: "id" };
export const forEvents: Encoding = { secrets: "hidden", references: "wrapped" };
export const forState: Encoding = { secrets: "plaintext", references: "wrapped" };

export function encode(value: Value, encoding: Encoding): Json {
  if (value instanceof Secret) return encodeSecret(value.value, encoding);
  if (value instanceof Unknown) return unknownText;
  if (value instanceof Reference) return encodeReference(value, encoding);
  if (isList(value)) return value.map((item) => encode(item, encoding));
  if (isMap(value)) return encodeMap(value, encoding);
  return value;
}

function encodeSecret(value: Value, encoding: Encoding): Json {
  const inner = encode(value, encoding);
  if (encoding.secrets === "clear") return inner;
  if (encoding.secrets === "hidden") return { [signatureKey]: secretSignature };
  if (encoding.secrets === "wrapped") return { [signatureKey]: secretSignature, value: inner };
  return { [signatureKey]: secretSignature, plaintext: JSON.stringify(inner) };
}

function encodeReference(reference: Reference, encoding: Encoding): Json {
  const id = reference.id === undefined ? undefined : encode(reference.id, encoding);
  if (encoding.references === "id") return id ?? reference.urn;
  return { [signatureKey]: referenceSignature, urn: reference.urn, ...(id === undefined ? {} : { id }) };
}

export function encodeMap(values: Values, encoding: Encoding): Record<string, Json> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, encode(value, encoding)]));
}

/** Returns the value without secret marks, at any depth. */
export function withoutSecrets(value: Value): Value {
  if (value instanceof Secret) return withoutSecrets(value.value);
  if (isList(value)) return value.map(withoutSecrets);
  if (isMap(value)) return mapValues(value, withoutSecrets);
  return value;
}

export function mapValues(values: Values, change: (value: Value, key: string) => Value): Values {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value, key)]));
}

function holdsSecret(value: Value): boolean {
  if (value instanceof Secret) return true;
  if (isList(value)) return value.some(holdsSecret);
  return isMap(value) && Object.values(value).some(holdsSecret);
}

export function holdsUnknown(value: Value): boolean {
  if (value instanceof Unknown) return true;
  if (value instanceof Secret) return holdsUnknown(value.value);
  if (isList(value)) return value.some(holdsUnknown);
  return isMap(value) && Object.values(value).some(holdsUnknown);
}

/** A provider returns plaintext. Marks the outputs whose inputs of the same key are secret. */
export function markSecrets(outputs: Values, inputs: Values): Values {
  return mapValues(outputs, (output, key) => {
    const input = Object.hasOwn(inputs, key) ? inputs[key] : undefined;
    if (input === undefined || output instanceof Secret) return output;
    if (isMap(output) && isMap(input)) return markSecrets(output, input);
    return holdsSecret(input) ? new Secret(output) : output;
  });
}
