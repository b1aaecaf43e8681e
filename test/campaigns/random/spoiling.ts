import type { Spelling } from "./nasty";

/** One change of a JSON body: at the place of this number, counted through all of the body. */
export interface Edit {
  readonly at: number;
  readonly how: "replace" | "drop" | "double" | "add";
  readonly name: string;
  readonly json: string;
}

export type Headers = Readonly<Record<string, string | string[]>>;

/** How a request or its reply goes wrong. `worked`: whether the service has done the work all the same. */
export type Spoiling =
  /** `established`: the connection took the request before it failed. */
  | {
      readonly kind: "connection";
      readonly code: string;
      readonly established: boolean;
      readonly worked: boolean;
    }
  | { readonly kind: "silence"; readonly worked: boolean }
  /** A reply that the HTTP library can't parse, with its code, if it has one. */
  | { readonly kind: "malformed"; readonly code: string | undefined; readonly worked: boolean }
  /** A body that is compressed, although nobody asked for it. */
  | { readonly kind: "gzip" }
  | { readonly kind: "slow"; readonly ms: number }
  /** The body ends before its end; `broken`: and the connection with it. */
  | { readonly kind: "cut"; readonly share: number; readonly broken: boolean }
  | {
      readonly kind: "refusal";
      readonly status: number;
      readonly worked: boolean;
      readonly body: string;
      readonly headers: Headers;
      readonly spelling: Spelling;
    }
  /** All that should not matter. */
  | {
      readonly kind: "decorated";
      readonly fields: readonly (readonly [string, string])[];
      readonly headers: Headers;
    }
  /** From here on what the service says is not so. */
  | { readonly kind: "edited"; readonly edits: readonly Edit[] }
  | { readonly kind: "instead"; readonly status: number; readonly body: string }
  | { readonly kind: "another status"; readonly status: number }
  | { readonly kind: "another object"; readonly id: string }
  | { readonly kind: "links"; readonly headers: Headers }
  | { readonly kind: "list"; readonly how: "same cursor" | "no cursor" | "shorter" | "doubled" | "endless" };

/** Spoils the request of this number, and so many after it. */
export interface Planned {
  readonly at: number;
  readonly times: number;
  readonly spoiling: Spoiling;
}

/** Whether a spoiled reply leaves it open, or says in so many words, what is not so. */
export function isLie({ kind }: Spoiling): boolean {
  return ["edited", "instead", "another status", "another object", "links", "list"].includes(kind);
}
