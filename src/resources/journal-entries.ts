import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { systemDisk } from "../journal/disk";
import { type Entry, readEntries } from "../journal/entry";
import { backendOf, isOfBackend, journalFolder, stackOf } from "../journal/location";
import { summarizeEntry, type UnsettledEntry } from "../journal/unsettled";
import { environmentOfRun, journalDir } from "./run";
import { organizationOfStack, projectFolder } from "./sdk";

/** Reads the entries of this stack from the journal on this machine, for any endpoint. */
export async function unsettledEntries(): Promise<UnsettledEntry[]> {
  const entries = await readEntries(
    systemDisk,
    journalFolder({ dir: journalDir(), env: environmentOfRun() }),
  );
  const own = `urn:pulumi:${pulumi.getStack()}::${pulumi.getProject()}`;
  const cwd = process.cwd();
  const backend = backendOf(path.resolve(cwd, projectFolder() ?? "."), environmentOfRun());
  const home = { organization: organizationOfStack(), backend, cwd };
  const isOwn = (entry: Entry): boolean => stackOf(entry.urn) === own && isOfBackend(entry, home);
  return [...entries.values()]
    .filter(isOwn)
    .sort((one, other) => one.at - other.at)
    .map(summarizeEntry);
}
