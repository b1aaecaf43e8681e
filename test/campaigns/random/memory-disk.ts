import { type Disk, systemDisk } from "../../../src/journal/disk";

/** An in-memory disk for journals. Paths are plain names, and all folders exist. */
export class MemoryDisk {
  readonly files = new Map<string, string>();

  /** Returns the interface that the journal uses, which needs only one form of each of Node's calls. */
  asDisk(): Disk {
    const { files } = this;
    const calls = {
      link: async (from: string, to: string) => {
        if (files.has(to)) throw failure("EEXIST");
        files.set(to, textOf(files, from));
      },
      mkdir: async () => undefined,
      open: async (file: string, flags: string | number) => {
        if (flags === "wx" && files.has(file)) throw failure("EEXIST");
        if (flags === "wx") files.set(file, "");
        if (flags !== "r") textOf(files, file); // "r": a folder
        return {
          readFile: async () => textOf(files, file),
          writeFile: async (text: string) => void files.set(file, textOf(files, file) + text),
          sync: async () => {},
          close: async () => {},
        };
      },
      readdir: async (folder: string) =>
        [...files.keys()].flatMap((file) =>
          file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : [],
        ),
      readFile: async (file: string) => textOf(files, file),
      rename: async (from: string, to: string) => {
        files.set(to, textOf(files, from));
        if (from !== to) files.delete(from);
      },
      stat: async (file: string) => ({ mtimeMs: textOf(files, file).length }),
      unlink: async (file: string) => {
        textOf(files, file);
        files.delete(file);
      },
    };
    return new Proxy(systemDisk, { get: (_, name) => Reflect.get(calls, name) });
  }
}

function textOf(files: ReadonlyMap<string, string>, file: string): string {
  const text = files.get(file);
  if (text === undefined) throw failure("ENOENT");
  return text;
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: simulated failure`), { code });
}
