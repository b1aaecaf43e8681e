import { Deletions } from "../../src/journal/deletions";
import { systemDisk } from "../../src/journal/disk";
import type { Journal } from "../../src/journal/journal";
import { RunFacts } from "../../src/journal/run-facts";

/** A journal that keeps nothing, for what is not about it. */
export const noJournal: Journal = {
  endpoint: "",
  begin: async () => undefined,
  note: async () => {},
  read: async () => undefined,
  find: async () => undefined,
  deletions: new Deletions(
    systemDisk,
    () => "",
    () => "",
  ),
  run: new RunFacts(systemDisk, () => "", undefined),
  move: async () => {},
  giveUp: async () => {},
  isGivenUp: async () => false,
  takeOver: async () => {},
  remove: async () => {},
  list: async () => [],
  listEverywhere: async () => [],
  earlier: async () => [],
};
