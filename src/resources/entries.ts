import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { backendOf } from "../journal/backend";
import { systemDisk } from "../journal/disk";
import type { Entry } from "../journal/entry";
import { readEntries } from "../journal/entry-files";
import { isAt, journalFolder, stackOf } from "../journal/place";
import { type UnsettledEntry, unsettled } from "../journal/unsettled";
import { journalDirOf } from "./confirm";
import { currentRun } from "./run";
import { organizationOfStack, projectFolder } from "./sdk";

/** Reads the entries of this stack from the journals on this machine, for any endpoint. */
export async function unsettledEntries(): Promise<UnsettledEntry[]> {
  const ofProviders = [...currentRun().journalDirs].map((dir) =>
    journalDirOf({ "cloudinfra:journalDir": dir }),
  );
  const dirs = await Promise.all([journalDirOf(undefined), ...ofProviders]);
  const folders = new Set(dirs.map((dir) => journalFolder({ dir })));
  const entries = await Promise.all([...folders].map((folder) => readEntries(systemDisk, folder)));
  const own = `urn:pulumi:${pulumi.getStack()}::${pulumi.getProject()}`;
  const cwd = process.cwd();
  const backend = backendOf(path.resolve(cwd, projectFolder() ?? "."), process.env);
  const home = { organization: organizationOfStack(), backend, cwd };
  const isOwn = (entry: Entry): boolean => stackOf(entry.urn) === own && isAt(entry, home);
  return entries
    .flatMap((ofFolder) => [...ofFolder.values()])
    .filter(isOwn)
    .sort((one, other) => one.at - other.at)
    .map(unsettled);
}
