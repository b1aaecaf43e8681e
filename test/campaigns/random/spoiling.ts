import type { Spelling } from "./nasty";

/** One change of a JSON body, at the place with this number. */
export interface Edit {
  readonly at: number;
  readonly how: "replace" | "drop" | "double" | "add";
  readonly name: string;
  readonly json: string;
}

export type Headers = Readonly<Record<string, string | string[]>>;

/** A fault of a request or its reply. `worked`: whether the service carried out the request anyway. */
export type Spoiling =
  /** `established`: whether the connection accepted the request before it failed. */
  | {
      readonly kind: "connection";
      readonly code: string;
      readonly established: boolean;
      readonly worked: boolean;
    }
  | { readonly kind: "silence"; readonly worked: boolean }
  /** A reply that the HTTP library can't parse, with its error code, if any. */
  | { readonly kind: "malformed"; readonly code: string | undefined; readonly worked: boolean }
  /** A compressed body, although the client didn't request it. */
  | { readonly kind: "gzip" }
  | { readonly kind: "slow"; readonly ms: number }
  /** A truncated body. `broken`: whether the connection breaks, too. */
  | { readonly kind: "cut"; readonly share: number; readonly broken: boolean }
  | {
      readonly kind: "refusal";
      readonly status: number;
      readonly worked: boolean;
      readonly body: string;
      readonly headers: Headers;
      readonly spelling: Spelling;
    }
  /** Variations that must not matter. */
  | {
      readonly kind: "decorated";
      readonly fields: readonly (readonly [string, string])[];
      readonly headers: Headers;
    }
  /** The faults from here on are lies. */
  | { readonly kind: "edited"; readonly edits: readonly Edit[] }
  | { readonly kind: "instead"; readonly status: number; readonly body: string }
  | { readonly kind: "another status"; readonly status: number }
  | { readonly kind: "another object"; readonly id: string }
  | { readonly kind: "links"; readonly headers: Headers }
  | { readonly kind: "list"; readonly how: "same cursor" | "no cursor" | "shorter" | "doubled" | "endless" };

/** A fault for the request with this number, and for some after it. */
export interface Planned {
  readonly at: number;
  readonly times: number;
  readonly spoiling: Spoiling;
}

/** Returns whether a fault is a lie: the reply states something false, or suggests it. */
export function isLie({ kind }: Spoiling): boolean {
  return ["edited", "instead", "another status", "another object", "links", "list"].includes(kind);
}
