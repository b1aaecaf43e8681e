import { hash } from "node:crypto";
import path from "node:path";
import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { readText, systemDisk, unlessMissing, writeWholeFile } from "../journal/disk";

const creation = v.object({
  kind: v.picklist(["project", "instance"]),
  /** The idempotency key. */
  key: v.string(),
  /** The exact string that is sent as the body. */
  body: v.string(),
  /** Whether an earlier creation has the same key. A conflict about the key then means that this creation was rejected. */
  isRepeat: v.optional(v.boolean()),
  /** The operation, if the service has accepted the request. */
  operation: v.optional(v.object({ id: v.string(), url: v.string() })),
  /** The id of the object, if it is known. */
  id: v.optional(v.string()),
});

const record = v.object({
  /** The base URL of the service. */
  endpoint: v.string(),
  /** The unique name with which the names of the probe's objects begin. */
  name: v.string(),
  /** The id of an existing project for the instance. Without this id, the probe creates a project. */
  project: v.optional(v.string()),
  creations: v.array(creation),
});

/** A creation request of a probe, which is recorded before it is sent. */
export type ProbeCreation = v.InferOutput<typeof creation>;

/** The record of everything that a probe may have created. */
export type ProbeRecord = v.InferOutput<typeof record>;

/** The record file of a probe. The file exists as long as the service may still have an object of the probe. */
export class RecordFile {
  readonly path: string;

  /** @param folder the journal's folder */
  constructor(folder: string, endpoint: string) {
    this.path = path.join(folder, `${hash("sha256", endpoint).slice(0, 12)}.probe`);
  }

  /** @throws CloudInfraError `input_invalid` if the record can't be read or is damaged */
  async read(): Promise<ProbeRecord | undefined> {
    const text = await readText(systemDisk, this.path).catch((cause: unknown) => {
      throw this.unusable("can't be read", cause);
    });
    const parsed = parseRecord(text ?? "");
    if (text !== undefined && parsed === undefined) throw this.unusable("is damaged");
    return parsed;
  }

  /** @throws CloudInfraError `input_invalid` if the record can't be written, or `conflict` if there is a record of another probe */
  async write(content: ProbeRecord): Promise<void> {
    const isOwn = (text: string): boolean => parseRecord(text)?.name === content.name;
    const text = JSON.stringify(content);
    const other = await writeWholeFile(systemDisk, this.path, text, isOwn).catch((cause: unknown) => {
      throw this.unusable("can't be written", cause);
    });
    if (other !== undefined) throw notCleanedUp();
  }

  async remove(): Promise<void> {
    await unlessMissing(systemDisk.unlink(this.path));
  }

  private unusable(why: string, cause?: unknown): CloudInfraError {
    return new CloudInfraError("input_invalid", `the record of the probe, ${this.path}, ${why}`, {
      hint: "Make the folder writable, or set cloudinfra:journalDir to another one",
      cause,
    });
  }
}

function parseRecord(text: string): ProbeRecord | undefined {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), record), text);
  return parsed.success ? parsed.output : undefined;
}

/** Creates the error for an earlier probe that was not cleaned up. */
export function notCleanedUp(): CloudInfraError {
  return new CloudInfraError("conflict", "an earlier probe may have left objects at the service", {
    hint: "If no other probe is running, run `npx pulumi-cloudinfra probe --clean` to delete them",
  });
}
