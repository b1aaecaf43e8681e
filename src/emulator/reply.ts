import type { Behaviour } from "./behaviour";

/** A whole reply as text, so that it can be stored, repeated byte for byte, cut off, or mislabelled. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}

export function bodyless(status: number, headers: Record<string, string> = {}): Reply {
  return { status, headers, body: "" };
}

/** An object as JSON shows it: values that are absent or empty may be null. */
export function present({ absentValues }: Behaviour, object: Readonly<Record<string, unknown>>): object {
  if (absentValues === "omitted") return object;
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, isEmpty(value) ? null : value]),
  );
}

/** An object without the fields that a reply doesn't show. */
export function without(fields: readonly string[], view: object): object {
  if (fields.length === 0) return view;
  return Object.fromEntries(Object.entries(view).filter(([name]) => !fields.includes(name)));
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === undefined;
  return Object.keys(value).length === 0;
}
