import type { ApiObject } from "../../api/client";

/** Statuses of an object that no longer exists, although the service still shows it. */
const DELETED_STATUSES = new Set([
  ...["deleted", "softdeleted", "terminated", "destroyed", "removed", "purged", "expunged"],
]);
/** Words that may stand beside them. Any other word, as in "to be deleted", may mean the opposite. */
const NEUTRAL_WORDS = new Set(["soft", "hard", "instance", "vm", "server", "machine", "state", "status"]);

/** Whether a service that keeps showing deleted objects says that this is one (§3 names no statuses), in any spelling. */
export function isDeleted({ fields: { status } }: ApiObject): boolean {
  if (typeof status !== "string") return false;
  const words =
    status
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z]+/g) ?? [];
  return (
    words.some((word) => DELETED_STATUSES.has(word)) &&
    words.every((word) => DELETED_STATUSES.has(word) || NEUTRAL_WORDS.has(word))
  );
}
