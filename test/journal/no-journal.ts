import { type Journal, openJournal } from "../../src/journal/journal";

/** A journal that keeps nothing because its folder can't exist, for tests that are about something else. */
export const noJournal: Journal = openJournal({ endpoint: "", dir: "/dev/null/journal", warn: () => {} });
