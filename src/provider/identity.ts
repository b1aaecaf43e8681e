import type { Context } from "./call";
import type { Kind } from "./kind";

/** Identifies an object of the service. A project and an instance may have the same id, and ids may be used again (I1). */
export interface ObjectIdentity {
  /** Normalized base URL of the service. */
  readonly endpoint: string;
  readonly kind: Kind["name"];
  readonly id: string;
}

/** Returns the identity of the object with this id, of the kind that a call is about. */
export function identityOf({ kind, session }: Pick<Context, "kind" | "session">, id: string): ObjectIdentity {
  return { endpoint: session.client.endpoint, kind: kind.name, id };
}

/** Returns a text that is the same for the same object, and for no other. */
export function identityKey({ endpoint, kind, id }: ObjectIdentity): string {
  return JSON.stringify([endpoint, kind, id]);
}
