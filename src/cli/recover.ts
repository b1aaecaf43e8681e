import path from "node:path";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { projectFileFor } from "../journal/location";
import type { RecoverOptions } from "./commands";
import { commandLineFor, programFolder, stackSettings } from "./pulumi";
import { interruptedCreations, titleOf, urnForNextUp } from "./recover-creations";
import {
  type EntryStatus,
  findStrayEntries,
  forgetCreation,
  organizationOf,
  type RecoveredCreation,
  type StackJournals,
  type StrayEntry,
  stackJournals,
  writeEntries,
} from "./recover-journal";
import { type Deployment, readExport } from "./stack-export";

/** Runs `npx pulumi-cloudinfra recover`, and returns the exit code. */
export async function recover(options: RecoverOptions): Promise<number> {
  try {
    const folder = programFolder(options.cwd);
    const projectFolder = path.dirname(projectFileFor(path.resolve(options.cwd)) ?? folder);
    const [deployment, config] = await Promise.all([
      readExport(options),
      options.file === undefined ? stackSettings(options.cwd, options.stack) : undefined,
    ]);
    const journals = stackJournals(deployment, { folder, projectFolder, config, options });
    return options.forget === undefined
      ? await writeMissingEntries(journals, deployment, options)
      : await forget(journals, deployment, options.forget, options);
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    console.error(formatError(error, { action: "recover" }));
    return 1;
  }
}

async function writeMissingEntries(
  journals: StackJournals,
  deployment: Deployment,
  options: RecoverOptions,
): Promise<number> {
  const byJournal = Map.groupBy(interruptedCreations(deployment), journals.journalOf);
  const creations: RecoveredCreation[] = [];
  const strayEntries: StrayEntry[] = [];
  for (const journal of journals.all) {
    creations.push(...(await writeEntries(journal, byJournal.get(journal) ?? [], options)));
    strayEntries.push(...(await findStrayEntries(journal, deployment)));
  }
  const clearCommand = deployment.pendingCreations.length > 0 ? clearCommandFor(deployment, options) : null;
  if (options.json) {
    console.log(
      JSON.stringify({ dryRun: options.dryRun ?? false, creations, strayEntries, clearCommand }, null, 2),
    );
  } else {
    if (creations.length + strayEntries.length === 0) console.log("Nothing to recover.");
    for (const creation of creations)
      console.log(
        `Interrupted creation of ${titleOf(creation)}: ${STATUS[creation.status]}\n  ${creation.urn}`,
      );
    for (const entry of strayEntries) console.log(describeStrayEntry(entry, options));
    if (clearCommand !== null) console.log(`\n${CLEAR_AFTER_UP}\n  ${clearCommand}`);
  }
  return creations.some(({ status }) => FAILURES.includes(status)) ? 1 : 0;
}

const FAILURES: readonly EntryStatus[] = ["not-resumable", "not-written"];

const STATUS: Readonly<Record<EntryStatus, string>> = {
  written: "wrote a journal entry. The next `pulumi up` resumes the creation.",
  "would-write": "would write a journal entry, so that the next `pulumi up` resumes the creation.",
  present: "already has a journal entry. The next `pulumi up` resumes the creation.",
  waiting: "another creation of this resource comes first. Run `pulumi up`, then run `recover` again.",
  "not-resumable":
    "can't be resumed, because the state doesn't contain its key and all arguments. Check whether the service has the object before you " +
    "run `pulumi up`, which creates another one.",
  "not-written":
    "the journal entry can't be written. Fix this problem before you run `pulumi up`, which would otherwise create a second object.",
};

function describeStrayEntry({ urn, id, status }: StrayEntry, options: RecoverOptions): string {
  if (status === "object-in-state") {
    const object = id === undefined ? "an object" : `the object ${id}`;
    return `Journal entry for ${object}, which the stack manages. Keep the object.\n  ${urn}`;
  }
  const object = id === undefined ? "" : ` (object ${id})`;
  return [
    `Journal entry for a resource that isn't in the state${object}.`,
    `  ${urn}`,
    "  If your program still declares the resource, run `pulumi up`, which resumes the creation. Otherwise, delete the object in the",
    "  service if it exists, and remove the entry:",
    `  ${commandLineFor(["npx", "pulumi-cloudinfra", "recover", "--forget", urn], options)}`,
  ].join("\n");
}

async function forget(
  journals: StackJournals,
  deployment: Deployment,
  urn: string,
  options: RecoverOptions,
): Promise<number> {
  const { dryRun = false, json } = options;
  const forgotten = await forgetCreation(journals, deployment, urn, options);
  if (forgotten === undefined) return 1;
  const { entries, abandoned } = forgotten;
  const isPending = deployment.pendingCreations.some((creation) => urnForNextUp(creation) === urn);
  if (entries + abandoned === 0 && !isPending) {
    const isNamed = organizationOf(deployment, options) !== undefined;
    throw new CloudInfraError("not_found", `no creation to forget for ${urn}`, {
      hint: isNamed ? FORGET_HINT : `${FORGET_HINT} ${ORGANIZATION_HINT}`,
    });
  }
  const clearCommand = isPending ? clearCommandFor(deployment, options) : null;
  if (json) {
    console.log(JSON.stringify({ dryRun, urn, entries, abandoned, clearCommand }, null, 2));
    return 0;
  }
  const what = entries === 1 ? "the journal entry" : `${entries} journal entries`;
  const removed = entries === 0 ? "No journal entry" : `${dryRun ? "Would remove" : "Removed"} ${what}`;
  console.log(`${removed} for ${urn}.`);
  if (abandoned > 0)
    console.log(
      `${dryRun ? "Would give up" : "Gave up"} the creation that the state records. This applies on this machine only.`,
    );
  console.log(
    "The next `pulumi up` creates the object again. If the interrupted creation made an object, delete it in the service.",
  );
  if (clearCommand !== null) console.log(`\n${CLEAR_AFTER_FORGET}\n  ${clearCommand}`);
  return 0;
}

const FORGET_HINT = "Check the URN. `recover` without --forget prints the URNs of unfinished creations.";
const ORGANIZATION_HINT =
  "If the stack belongs to an organization, specify the stack as `--stack <organization>/<project>/<stack>`.";

const CLEAR_AFTER_UP = `Pulumi keeps these creations in its list of pending operations, even after \`pulumi up\` has finished them. Clear the list after the next
successful \`pulumi up\`, or a later \`recover\` may find them again. If the list has creations of other packages, resolve those first.`;

const CLEAR_AFTER_FORGET = `Pulumi keeps the creation in its list of pending operations. Clear the list, or the next \`recover\` finds the creation again. If the list
has other creations, resolve those first.`;

/**
 * Returns the command that clears Pulumi's list of pending operations. The only target is the stack itself, so no resources are refreshed.
 */
function clearCommandFor({ urns }: Deployment, options: RecoverOptions): string {
  const stack = urns.find((urn) => urn.split("::")[2] === "pulumi:pulumi:Stack");
  const target = stack === undefined ? [] : ["--target", stack];
  return commandLineFor(
    ["pulumi", "refresh", "--yes", "--skip-preview", "--clear-pending-creates", ...target],
    options,
  );
}
