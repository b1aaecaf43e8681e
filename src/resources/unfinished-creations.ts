import * as pulumi from "@pulumi/pulumi";
import { applicableSettings } from "../config/settings";
import type { UnfinishedEntry } from "../journal/entry";
import { afterRun, currentRun, environmentOfRun, organizationOfStack, projectFolder, resolved } from "./sdk";

// Dynamic imports keep the start of a program short.

/**
 * When the program has ended, warns about unfinished creations, except in previews. The provider finishes those of declared resources.
 * Nothing else would find those of resources that were removed from the program.
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

/** Returns the setting as the provider reads it. The stack takes precedence over the environment. */
function journalDir(): string | undefined {
  const environment = environmentOfRun();
  const configured = applicableSettings(pulumi.runtime.getConfig, environment);
  return [configured("cloudinfra:journalDir"), environment.CLOUDINFRA_JOURNAL_DIR]
    .map((text) => text?.trim())
    .find(Boolean);
}

/**
 * Records a resource once the engine has registered it. Records both its URN, to which the provider moves the entry of a former URN, and
 * its object, which another resource's interrupted creation may have made.
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

/** Warns about unfinished creations of resources that the program hasn't registered in this run. */
export async function warnOfUnfinished(read: () => Promise<readonly UnfinishedEntry[]>): Promise<void> {
  const { registered } = currentRun();
  const entries = (await read()).filter(
    ({ urn, id }) => !registered.has(urn) && !(id !== undefined && registered.has(objectOf(urn, id))),
  );
  if (entries.length === 0) return;
  const { unfinishedWarning } = await import("../journal/entry.js");
  await pulumi.log.warn(unfinishedWarning(entries, WARNING));
}

/** Identifies an object by its id and its type, which is the last type in the URN. */
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
 * Removes the journal entry of a resource's creation when its `id` resolves, because the engine has saved the resource by then. The program
 * neither waits for this nor fails because of it.
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
