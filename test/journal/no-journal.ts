import type { Journal } from "../../src/journal/journal";

/** A journal that keeps nothing, for what is not about it. */
export const noJournal: Journal = {
  begin: async () => undefined,
  note: async () => {},
  read: async () => undefined,
  remove: async () => {},
  list: async () => [],
};
