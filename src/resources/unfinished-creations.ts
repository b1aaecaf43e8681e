import * as pulumi from "@pulumi/pulumi";
import { applicableSettings } from "../config/settings";
import type { UnfinishedEntry } from "../journal/entry";
import { afterRun, currentRun, environmentOfRun, organizationOfStack, projectFolder, resolved } from "./sdk";

/**
 * At the end of a program run, warns about unfinished creations of resources that the program no longer declares. The provider resumes the
 * creations of declared resources. Previews don't warn.
 */
export function watchForUnfinished(): void {
  if (!pulumi.runtime.isDryRun()) afterRun(() => warnOfUnfinished(entriesOfStack));
}

async function entriesOfStack(): Promise<readonly UnfinishedEntry[]> {
  const { openJournal } = await import("../journal/journal.js");
  const journal = openJournal({
    ...{ endpoint: "", dir: journalDir(), organization: organizationOfStack, projectFolder },
    env: environmentOfRun(),
    warn: () => {}, // the provider reports problems with the journal
  });
  const stack = `urn:pulumi:${pulumi.getStack()}::${pulumi.getProject()}::`;
  return (await journal.listEverywhere()).filter(({ urn }) => urn.startsWith(stack));
}

/** Returns the journal folder that the provider uses. The stack's configuration takes precedence over the environment. */
function journalDir(): string | undefined {
  const environment = environmentOfRun();
  const configured = applicableSettings(pulumi.runtime.getConfig, environment);
  return [configured("cloudinfra:journalDir"), environment.CLOUDINFRA_JOURNAL_DIR]
    .map((text) => text?.trim())
    .find(Boolean);
}

/**
 * Records the URN and the object of a resource after its registration. Journal entries with the same URN or object then cause no warning.
 */
export async function recordRegistration(resource: Pick<pulumi.CustomResource, "urn" | "id">): Promise<void> {
  const { registered } = currentRun();
  try {
    const known = await resolved(resource.urn);
    if (known === undefined) return;
    registered.add(known);
    const object = await resolved(resource.id);
    if (object !== undefined) registered.add(objectOf(known, object));
  } catch {
    // Pulumi reports that the resource could not be registered.
  }
}

/** Warns about the unfinished creations of resources that the program hasn't registered in this run. */
export async function warnOfUnfinished(read: () => Promise<readonly UnfinishedEntry[]>): Promise<void> {
  const { registered } = currentRun();
  const entries = (await read()).filter(
    ({ urn, id }) => !registered.has(urn) && !(id !== undefined && registered.has(objectOf(urn, id))),
  );
  if (entries.length === 0) return;
  const { unfinishedWarning } = await import("../journal/entry.js");
  await pulumi.log.warn(unfinishedWarning(entries, WARNING));
}

/** Returns a string that identifies an object: the last type in the URN, and the object's id. */
function objectOf(urn: string, id: string): string {
  return `${urn.split("::")[2]?.split("$").at(-1)} ${id}`;
}

const WARNING = {
  one: "the program no longer declares its resource",
  several: "the program no longer declares their resources",
  hints: [
    "To let Pulumi manage an object, declare its resource again and run `pulumi up`.",
    "Otherwise, delete the object in the service, unless you removed it from the stack on purpose or `npx pulumi-cloudinfra recover` reports that the stack manages it. Then run `npx pulumi-cloudinfra recover --forget <urn>`.",
  ],
};

/**
 * Removes the journal entry of a creation when the resource's `id` resolves, because the engine has saved the resource by then. The program
 * doesn't wait for the removal and ignores its errors.
 */
export function confirmOnceSaved(resource: pulumi.CustomResource): void {
  const dir = journalDir();
  const key = pulumi.output<unknown>(Reflect.get(resource, "__key"));
  const confirmed = pulumi.all([key, resource.id]).apply(([saved, id]) => {
    if (id && typeof saved === "string")
      void import("../journal/confirm.js").then(({ confirm }) => confirm(saved, id, { dir }));
  });
  pulumi.recover(confirmed, () => undefined); // Pulumi reports a creation that failed
}
