import type { EntryUpdate } from "../../journal/entry";
import type { Context } from "../call";
import type { Pending } from "./pending";

/** Adds to the creation's journal entry (M3). */
export async function extendEntry({ session }: Context, { key }: Pending, more: EntryUpdate): Promise<void> {
  if (key !== undefined) await session.journal.extend(key, more);
}
