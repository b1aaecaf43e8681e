import { accessSync, existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { CloudInfraError } from "../../diagnostics/error";
import type { ImportArgs } from "./args";

const KINDS = ["document", "program"] as const;
type Files = Readonly<Record<(typeof KINDS)[number], string>>;

/**
 * Resolves the paths of the files to write.
 *
 * @throws CloudInfraError `input_invalid` if one of them exists, unless `--force` is given; or if the folder of one doesn't exist
 */
export function filesToWrite(args: ImportArgs): Files {
  const files = {
    document: path.resolve(args.cwd, args.document),
    program: path.resolve(args.cwd, args.program),
  };
  const existing = args.force ? undefined : KINDS.find((kind) => existsSync(files[kind]));
  if (existing !== undefined) throw exists(files[existing]);
  for (const kind of KINDS) {
    try {
      accessSync(path.dirname(files[kind]));
    } catch (cause) {
      throw notWritable(files[kind], cause);
    }
  }
  return files;
}

/**
 * Writes the files; existing ones only with `--force`.
 *
 * @throws CloudInfraError `input_invalid`
 */
export async function writeFiles(files: Files, texts: Files, { force }: ImportArgs): Promise<void> {
  for (const kind of KINDS) {
    const file = files[kind];
    await writeFile(file, texts[kind], { flag: force ? "w" : "wx" }).catch((cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") throw exists(file);
      throw notWritable(file, cause);
    });
  }
}

function notWritable(file: string, cause: unknown): CloudInfraError {
  return new CloudInfraError("input_invalid", `can't write ${file}`, {
    hint: "Choose another path with --program or --document.",
    cause,
  });
}

function exists(file: string): CloudInfraError {
  return new CloudInfraError("input_invalid", `${file} already exists`, {
    hint: "Choose another path with --program or --document, or overwrite the file with --force.",
  });
}
