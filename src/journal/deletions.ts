import { hash } from "node:crypto";
import path from "node:path";
import { appendOrCreate, type Disk, readText, withDiskTimeout } from "./disk";

/** How the names of these files end. */
export const DELETION_SUFFIX = ".deletion";

/**
 * The objects whose deletion this machine has requested with the present token. If a process is killed between the deletion and the
 * moment when the engine saves it, this is the only evidence that the object was deleted and is not merely hidden.
 */
export class DeletionRequests {
  constructor(
    private readonly disk: Disk,
    private readonly folder: () => string,
    /**
     * Returns the token in use: another one may see less, even if it is from the same source, such as a command whose user has logged in as
     * somebody else. Only a hash of it is written.
     */
    private readonly token: () => string,
  ) {}

  /** Records that the deletion of an object is about to be requested. If the disk can't be used, there is no record. */
  async add(object: string): Promise<void> {
    const file = this.file(object);
    await withDiskTimeout(path.dirname(file), () => appendOrCreate(this.disk, file, object)).catch(
      () => undefined,
    );
  }

  async has(object: string): Promise<boolean> {
    const file = this.file(object);
    const text = await withDiskTimeout(path.dirname(file), () => readText(this.disk, file)).catch(
      () => undefined,
    );
    return text?.startsWith(object) ?? false;
  }

  /** Removes the record because the object still exists, or exists again. */
  async remove(object: string): Promise<void> {
    const file = this.file(object);
    await withDiskTimeout(path.dirname(file), () => this.disk.unlink(file)).catch(() => undefined);
  }

  private file(object: string): string {
    return path.join(
      this.folder(),
      hash("sha256", JSON.stringify([object, this.token()])).slice(0, 24) + DELETION_SUFFIX,
    );
  }
}
