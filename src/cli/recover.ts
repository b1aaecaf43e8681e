import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { type Journal, openJournal } from "../journal/journal";
import type { Command } from "./command";
import { programFolder } from "./program-folder";
import { help, parseRecoverArgs, type RecoverArgs } from "./recover/args";
import { howToClear } from "./recover/clear";
import { pendingCreations } from "./recover/creations";
import { parseExport } from "./recover/deployment";
import { forgetNote } from "./recover/forget";
import { noteCreations } from "./recover/note";
import { stackExport } from "./recover/stack-export";
import { type JournalPlace, storedSettings } from "./recover/stored-settings";
import { strayNotes } from "./recover/stray-notes";

/**
 * `npx pulumi-cloudinfra recover`: the journal for machines that did not make the last `up`. Notes what the stack has as
 * pending, so that the next `up` goes on with it.
 */
export const recover: Command = {
  async run(args) {
    const parsed = parseRecoverArgs(args);
    if ("error" in parsed) {
      console.error(`${parsed.error}\n"pulumi-cloudinfra recover --help" lists the options.`);
      return 2;
    }
    if (parsed.help) {
      console.log(help());
      return 0;
    }
    try {
      return (await recoverStack(parsed)) ? 0 : 1;
    } catch (error) {
      if (!isCloudInfraError(error)) throw error;
      console.error(`recover failed: ${error.summary}${error.hint ? `\n  hint: ${error.hint}` : ""}`);
      return 1;
    }
  },
};

/** Returns whether everything succeeded. */
async function recoverStack(args: RecoverArgs): Promise<boolean> {
  const dir = programFolder(args.cwd);
  const deployment = parseExport(await stackExport(args));
  const settings = storedSettings(deployment, process.env, args.endpoint);
  const pending = pendingCreations(deployment);
  const journalAt = ({ endpoint, journalDir }: JournalPlace): Journal =>
    openJournal({ endpoint, dir: journalDir, cwd: dir, env: process.env, warn: console.error });
  if (args.forget !== undefined) {
    if (settings.places.length === 0) throw noEndpoint();
    return forgetNote(settings.places.map(journalAt), args.forget, deployment, pending, args);
  }
  const byPlace = Map.groupBy(pending.cutOff, (creation) => {
    const place = settings.placeOf(creation);
    if (place === undefined) throw noEndpoint();
    return JSON.stringify(place);
  });
  let allNoted = true;
  let strays: string[] = [];
  for (const place of settings.places) {
    const journal = journalAt(place);
    const noted = await noteCreations(journal, byPlace.get(JSON.stringify(place)) ?? [], args);
    allNoted &&= noted;
    strays = [...strays, ...(await strayNotes(journal, deployment))];
  }
  if (pending.cutOff.length + strays.length === 0) console.log(NOTHING);
  for (const stray of strays) console.log(stray);
  if (pending.cutOff.length + pending.held > 0) console.log(howToClear(deployment));
  return allNoted;
}

const NOTHING = "nothing to recover";

function noEndpoint(): CloudInfraError {
  return new CloudInfraError("config_missing", "the stack does not tell the address of the service", {
    hint: "name it with --endpoint, or the variable CLOUDINFRA_ENDPOINT",
  });
}
