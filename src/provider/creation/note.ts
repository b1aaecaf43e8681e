import type { More } from "../../journal/entry";
import type { Call } from "../call";
import type { Pending } from "./pending";

/** Adds to the creation's journal entry (M3). */
export async function note({ session }: Call, { key }: Pending, more: More): Promise<void> {
  if (key !== undefined) await session.journal.note(key, more);
}
