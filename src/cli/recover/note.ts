import type { Journal } from "../../journal/journal";
import type { CutOff } from "./creations";

/**
 * Notes each creation in the journal, and says so. What is noted already is left as it is, for it may know more.
 *
 * @returns whether each of them is noted now, or will be after the next `up`
 */
export async function noteCreations(
  journal: Journal,
  cutOff: readonly CutOff[],
  { dryRun }: { readonly dryRun: boolean },
): Promise<boolean> {
  const keys = new Map((await journal.list()).map(({ urn, key }) => [urn, key]));
  let allNoted = true;
  for (const creation of cutOff) {
    const noted = await noteCreation(journal, keys, creation, dryRun);
    allNoted &&= noted;
  }
  return allNoted;
}

async function noteCreation(
  journal: Journal,
  keys: Map<string, string>,
  { what, urn, begun }: CutOff,
  dryRun: boolean,
): Promise<boolean> {
  const say = (words: string): void => console.log(`the creation of ${what} was cut off: ${words}\n  ${urn}`);
  if (begun === undefined) {
    say(
      "the stack does not hold its key and arguments whole, so it can't be gone on with. Look for it at the service " +
        "before the next `pulumi up`, which would make another",
    );
    return false;
  }
  const known = keys.get(urn);
  if (known === undefined && !dryRun) {
    await journal.begin(begun);
    if ((await journal.read(begun))?.key !== begun.key) {
      say("it could not be noted. Do not run `pulumi up` before it is, for that would make another");
      return false;
    }
  }
  keys.set(urn, known ?? begun.key);
  if (known === undefined)
    say(`${dryRun ? "it would be" : "it is now"} noted here, for \`pulumi up\` to go on with`);
  else if (known === begun.key) say("it was noted here before, and `pulumi up` goes on with it");
  else say("another creation of it is noted here and comes first. Run `pulumi up`, then recover again");
  return true;
}
