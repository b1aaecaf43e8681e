import * as pulumi from "@pulumi/pulumi";
import type { UnsettledEntry } from "../journal/unsettled";
import { currentRun } from "./run";
import { afterRun, resolved } from "./sdk";

/**
 * Looks for unsettled creations when the program has ended, except in previews. The provider settles those of declared resources. Nothing
 * else would find those of resources that were removed from the program.
 */
export function watchForUnsettled(): void {
  if (pulumi.runtime.isDryRun()) return;
  afterRun(async () => {
    const { unsettledEntries } = await import("./entries.js"); // at the end: each file makes the start of a program longer
    await warnOfUnsettled(unsettledEntries);
  });
}

/** Remembers the URN of a resource once the engine has registered it. The provider moves the entry of a former URN to it. */
export async function recordRegistration({ urn }: Pick<pulumi.Resource, "urn">): Promise<void> {
  const { registered } = currentRun();
  try {
    const known = await resolved(urn);
    if (known !== undefined) registered.add(known);
  } catch {
    // Pulumi reports that the resource could not be registered.
  }
}

/** Warns of the unsettled creations of resources that the program has not registered in this run. */
export async function warnOfUnsettled(read: () => Promise<readonly UnsettledEntry[]>): Promise<void> {
  const { registered } = currentRun();
  const entries = (await read()).filter(({ urn }) => !registered.has(urn));
  if (entries.length === 0) return;
  const { unsettledWarning } = await import("../journal/unsettled.js");
  await pulumi.log.warn(unsettledWarning(entries, WORDS));
}

const WORDS = {
  one: "the program no longer declares its resource",
  several: "the program no longer declares their resources",
  hints: [
    "To let Pulumi manage an object, declare its resource again and run `pulumi up`.",
    "Otherwise, delete it at the service, unless you have released it on purpose. Then run `npx pulumi-cloudinfra recover --forget <urn>`.",
  ],
};
