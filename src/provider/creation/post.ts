import { createHash } from "node:crypto";
import { validate } from "uuid";
import type { Accepted } from "../../api/client";
import { type CloudInfraError, isCloudInfraError } from "../../diagnostics/error";
import type { Context } from "../call";
import { type Pending, parseSentBody } from "./pending";

/** A creation as it is sent, and as it is sent again. */
export interface CreationRequest {
  readonly key: string;
  readonly body: string;
  /** When it was sent first, in milliseconds since 1970. */
  readonly at: number;
}

/** How a POST ended: accepted; rejected, with nothing made; failed in the same way for as long as its key is kept; or not known. */
export type SendOutcome =
  | { readonly kind: "accepted"; readonly accepted: Accepted }
  | { readonly kind: "refused"; readonly error: CloudInfraError }
  | { readonly kind: "stored failure"; readonly error: CloudInfraError }
  | { readonly kind: "unsure"; readonly error: CloudInfraError };

/**
 * Sends a creation with its key (§4.7).
 *
 * @param again whether an earlier process may have sent it. What became of that attempt is not known, so no failure of a later one
 * settles the creation
 */
export async function sendCreation(
  context: Context,
  { key, body }: CreationRequest,
  again: boolean,
): Promise<SendOutcome> {
  const { client, finder } = context.session;
  try {
    return { kind: "accepted", accepted: await context.kind.create(client, body, key, context) };
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (again) return { kind: "unsure", error };
    if (error.replayed) return { kind: "stored failure", error };
    return { kind: error.sent ? "unsure" : "refused", error };
  } finally {
    finder.invalidate();
  }
}

/**
 * The key of a further try, where the one before is spent. It follows from that one, so that a machine that knows only the
 * first, as the engine saved it, comes to the same keys.
 */
export function nextKey(key: string): string {
  const bytes = createHash("sha256").update(`cloudinfra key after ${key}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40; // version 4 of the random form, which is what the service takes (§4.7)
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** How many keys may have been tried one after the other. */
const MAX_SPENT_KEYS = 16;

/** The key to try where one is spent: the next one, if it follows from the `first`; else the first, which was not sent yet. */
export function keyAfter(spent: string | undefined, first: string): string {
  let key = first;
  for (let tried = 0; tried < MAX_SPENT_KEYS; tried += 1) {
    const next = nextKey(key);
    if (key === spent) return next;
    key = next;
  }
  return first;
}

/** The creation that a state or a journal tells of, where it tells enough to send it again, and is not damaged. */
export function creationRequestOf({ key, body, at }: Pending): CreationRequest | undefined {
  if (key === undefined || body === undefined || at === undefined) return undefined;
  return validate(key) && parseSentBody(body) !== undefined ? { key, body, at } : undefined;
}
