import type { Journal } from "../../journal/journal";
import type { Deployment } from "./deployment";

/**
 * What is noted here of this stack, but of no resource that the stack knows: whether the program still declares it can't
 * be known from here. In words, each with what to do.
 */
export async function strayNotes(journal: Journal, deployment: Deployment): Promise<string[]> {
  const pending = deployment.pending_operations.map(({ resource }) => resource);
  const known = [...deployment.resources, ...pending].map(({ urn }) => urn);
  const stack = stackOf(known[0]);
  const strays = (await journal.list()).filter(
    ({ urn }) => !known.includes(urn) && (stack === undefined || stackOf(urn) === stack),
  );
  return strays.map(
    ({ urn, id }) =>
      `a creation is noted here, but the stack knows nothing of it${id === undefined ? "" : ` (its id is ${id})`}: ` +
      "if your program still declares it, `pulumi up` goes on with it. If not, delete the object at the service, if it is " +
      `there, and drop the note:\n  npx pulumi-cloudinfra recover --forget '${urn}'`,
  );
}

/** `urn:pulumi:STACK::PROJECT` of a URN. */
function stackOf(urn: string | undefined): string | undefined {
  return urn?.split("::").slice(0, 2).join("::");
}
