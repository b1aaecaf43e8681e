import path from "node:path";
import { parseEndpoint } from "../api/endpoint";
import { CloudInfraError } from "../diagnostics/error";
import { type Journal, openJournal } from "../journal/journal";
import { projectFileFor } from "../journal/location";
import { type Command, reportFailure, reportUsageError } from "./command";
import { programFolder, stackSettings } from "./pulumi";
import { help, parseRecoverArgs, type RecoverArgs } from "./recover/args";
import { pendingCreations } from "./recover/creations";
import { clearPendingHint, findStrayEntries, forgetEntry, writeEntries } from "./recover/entries";
import { parseExport, stackExport } from "./recover/export";
import {
  ENDPOINT_OPTION,
  type JournalPlace,
  organizationOf,
  storedSettings,
} from "./recover/stored-settings";

/** `npx pulumi-cloudinfra recover`: writes the journal entries of pending creations, so that the next `up` resumes them. */
export const recover: Command = {
  async run(args) {
    const parsed = parseRecoverArgs(args);
    if ("error" in parsed) return reportUsageError("recover", parsed.error);
    if (parsed.help) {
      console.log(help());
      return 0;
    }
    try {
      return (await recoverStack(parsed)) ? 0 : 1;
    } catch (error) {
      return reportFailure(error, { action: "recover" });
    }
  },
};

/** Returns whether everything succeeded. */
async function recoverStack(args: RecoverArgs): Promise<boolean> {
  const dir = programFolder(args.cwd);
  const projectFolder = path.dirname(projectFileFor(path.resolve(args.cwd)) ?? dir);
  const { endpoint, file } = args;
  const [text, config] = await Promise.all([
    stackExport(args),
    file === undefined ? stackSettings(args.cwd, args.stack) : undefined,
  ]);
  const deployment = parseExport(text);
  const settings = storedSettings(deployment, process.env, { endpoint, config });
  const pending = pendingCreations(deployment);
  const organization = organizationOf(deployment, args);
  const journalAt = ({ endpoint, journalDir }: JournalPlace, backend?: string): Journal =>
    openJournal({
      ...{ endpoint, dir: journalDir, cwd: dir, env: process.env, backend, warn: console.error },
      organization: () => organization,
      projectFolder: () => projectFolder,
    });
  if (args.forget !== undefined) {
    // The entry may be for a service that the stack no longer uses.
    const at = endpoint && parseEndpoint(endpoint, { allowHttp: true, setting: ENDPOINT_OPTION }).base;
    const { journalDir } = settings;
    const journals = [undefined, dir].map((backend) =>
      journalAt({ endpoint: at ?? "", journalDir }, backend),
    );
    return forgetEntry(journals, args.forget, deployment, pending, args);
  }
  // The backend of a file is not known: the program's folder stands for it.
  const backend = file === undefined ? undefined : dir;
  const byPlace = Map.groupBy(pending.cutOff, (creation) => {
    const place = settings.placeOf(creation);
    if (place === undefined) throw noEndpoint();
    return JSON.stringify(place);
  });
  let allNoted = true;
  let strays: string[] = [];
  for (const place of settings.places) {
    const journal = journalAt(place, backend);
    const noted = await writeEntries(journal, byPlace.get(JSON.stringify(place)) ?? [], args);
    allNoted &&= noted;
    strays = [...strays, ...(await findStrayEntries(journal, deployment))];
  }
  if (pending.cutOff.length + strays.length === 0) console.log(NOTHING);
  for (const stray of strays) console.log(stray);
  if (pending.cutOff.length + pending.held > 0) console.log(clearPendingHint(deployment, args));
  return allNoted;
}

const NOTHING = "nothing to recover";

function noEndpoint(): CloudInfraError {
  return new CloudInfraError("config_missing", "the state doesn't contain the address of the service", {
    hint: "Give it with --endpoint, or set CLOUDINFRA_ENDPOINT.",
  });
}
