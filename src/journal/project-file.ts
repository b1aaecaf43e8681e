import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
// Every program loads this parser anyway: Pulumi's SDK does.
import { loadAll, YAMLException } from "js-yaml";
import { CloudInfraError } from "../diagnostics/error";

/** The names of Pulumi's project files, in the order in which the CLI looks for them. */
const NAMES = ["Pulumi.json", "Pulumi.yaml", "Pulumi.yml"];

/** Finds Pulumi's project file as the CLI does: in a folder, or in the nearest one above that has one. */
export function projectFileFor(folder: string): string | undefined {
  const found = NAMES.map((name) => path.join(folder, name)).find((file) => existsSync(file));
  const above = path.dirname(folder);
  return found ?? (above === folder ? undefined : projectFileFor(above));
}

/** What a project file says of the program's place, and of the backend. */
export interface ProjectFile {
  readonly main?: string | undefined;
  readonly backendUrl?: string | undefined;
}

/**
 * Reads a project file. JSON is YAML, too.
 *
 * @throws CloudInfraError `config_invalid`, without a part of the file, which may hold secrets
 */
export function readProjectFile(file: string): ProjectFile {
  try {
    const [content] = loadAll(readFileSync(file, "utf8")); // the CLI ignores further documents, too
    const { main, backend } = fieldsOf(content);
    return { main: textOf(main), backendUrl: textOf(fieldsOf(backend).url) };
  } catch (error) {
    const why =
      error instanceof YAMLException
        ? `${error.reason} in line ${error.mark.line + 1}`
        : Object(error).code || "unknown error";
    throw new CloudInfraError("config_invalid", `${file} can't be read: ${why}`, {
      hint: "Correct the file.",
    });
  }
}

const fieldsOf = (value: unknown): Partial<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
