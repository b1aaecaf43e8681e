import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import type { Deployment } from "../../harness/engine";

/** The engine version in the state files. The real CLI accepts them. */
const version = "v3.260.0";
const magic = createHash("sha256").update(version).digest("hex");

export function manifest(): { time: string; magic: string; version: string } {
  return { time: new Date().toISOString(), magic, version };
}

/** The state file of one stack, in the checkpoint format of Pulumi's file backend. */
export class StateFile {
  constructor(
    readonly file: string,
    private readonly stack: { organization: string; project: string; stack: string },
  ) {}

  read(): Deployment {
    if (!fs.existsSync(this.file)) return { manifest: manifest(), resources: [], metadata: {} };
    const parsed: { version?: number; checkpoint?: { latest?: Deployment } } = JSON.parse(
      fs.readFileSync(this.file, "utf8"),
    );
    if (parsed.version !== 3) throw new Error(`${this.file} is not a checkpoint of version 3`);
    return parsed.checkpoint?.latest ?? {};
  }

  /** Replaces the file atomically, so that readers and later engines see a complete state. */
  write(latest: Deployment): void {
    const stack = `${this.stack.organization}/${this.stack.project}/${this.stack.stack}`;
    const text = JSON.stringify({ version: 3, checkpoint: { stack, latest } });
    fs.mkdirSync(path.dirname(this.file), { recursive: true });
    const temporary = `${this.file}.${process.pid}.tmp`;
    fs.writeFileSync(temporary, text, { mode: 0o600 });
    fs.renameSync(temporary, this.file);
  }
}
