import type { Kind } from "./kinds";

/** Identifies an object of the service. A project and an instance may have the same id, and ids may be used again (I1). */
export interface ObjectIdentity {
  /** Normalized base URL of the service. */
  readonly endpoint: string;
  readonly kind: Kind["name"];
  readonly id: string;
}

/** Returns a text that is the same for the same object, and for no other. */
export function identityKey({ endpoint, kind, id }: ObjectIdentity): string {
  return JSON.stringify([endpoint, kind, id]);
}
