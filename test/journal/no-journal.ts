import { DeletionRequests } from "../../src/journal/deletions";
import { systemDisk } from "../../src/journal/disk";
import type { Journal } from "../../src/journal/journal";
import { RunFacts } from "../../src/journal/run-facts";

/** A journal that keeps nothing, for what is not about it. */
export const noJournal: Journal = {
  endpoint: "",
  begin: async () => undefined,
  extend: async () => {},
  read: async () => undefined,
  find: async () => undefined,
  deletions: new DeletionRequests(
    systemDisk,
    () => "",
    () => "",
  ),
  run: new RunFacts(systemDisk, () => "", undefined),
  move: async () => {},
  giveUp: async () => {},
  isGivenUp: async () => false,
  moveFormerEndpoints: async () => {},
  remove: async () => {},
  list: async () => [],
  listEverywhere: async () => [],
  entriesAtStart: async () => [],
};
