import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { backendOf } from "../journal/backend";
import { namesIn, readText, systemDisk } from "../journal/disk";
import { type Entry, parseEntry } from "../journal/entry";
import { isAt, journalFolder, stackOf } from "../journal/place";
import { type UnsettledEntry, unsettled } from "../journal/unsettled";
import { journalDir } from "./confirm";
import { organizationOfStack, projectFolder } from "./sdk";

/** Reads the entries of this stack from the journal on this machine, for any endpoint. */
export async function unsettledEntries(): Promise<UnsettledEntry[]> {
  const folder = journalFolder({ dir: journalDir() });
  const names = (await namesIn(systemDisk, folder)).filter((name) => name.endsWith(".jsonl"));
  const texts = await Promise.all(names.map((name) => readText(systemDisk, path.join(folder, name))));
  const own = `urn:pulumi:${pulumi.getStack()}::${pulumi.getProject()}`;
  const cwd = process.cwd();
  const backend = backendOf(path.resolve(cwd, projectFolder() ?? "."), process.env);
  const home = { organization: organizationOfStack(), backend, cwd };
  const isOwn = (entry: Entry): boolean => stackOf(entry.urn) === own && isAt(entry, home);
  return texts
    .flatMap((text) => (text && parseEntry(text)) || [])
    .filter(isOwn)
    .sort((one, other) => one.at - other.at)
    .map(unsettled);
}
