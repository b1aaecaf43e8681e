import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";

/** The names that Pulumi looks for, in its order. */
const PROJECT_FILES = ["Pulumi.json", "Pulumi.yaml", "Pulumi.yml"];

/**
 * The folder in which program and provider run, and which their notes of creations name: that of the project's file, or
 * the one that its `main` leads to. The project's file is looked for from `cwd` upwards.
 *
 * @throws CloudInfraError `config_missing`, `config_invalid`
 */
export function programFolder(cwd: string): string {
  const file = projectFile(path.resolve(cwd));
  if (file === undefined) {
    throw new CloudInfraError(
      "config_missing",
      `there is no Pulumi.yaml in ${path.resolve(cwd)} or above it`,
      {
        hint: "run this in the folder of your Pulumi program, or name it with --cwd",
      },
    );
  }
  const main = path.resolve(path.dirname(file), mainOf(file) ?? ".");
  if (!existsSync(main)) {
    throw new CloudInfraError("config_invalid", `${file} names a \`main\` that is not there: ${main}`, {
      hint: "the notes belong to the folder of the program, so it has to be there as it was",
    });
  }
  return realpathSync(statSync(main).isDirectory() ? main : path.dirname(main));
}

function projectFile(folder: string): string | undefined {
  const found = PROJECT_FILES.map((name) => path.join(folder, name)).find((file) => existsSync(file));
  const above = path.dirname(folder);
  return found ?? (above === folder ? undefined : projectFile(above));
}

function mainOf(file: string): string | undefined {
  const text = readFileSync(file, "utf8");
  const json = parseJson(text);
  if (json !== undefined)
    return v.parse(v.object({ main: v.fallback(v.optional(v.string()), undefined) }), json).main;
  return mainOfYaml(text, file);
}

function parseJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** One key of one file is no reason for a YAML parser; a value that is not on the key's own line is refused. */
function mainOfYaml(text: string, file: string): string | undefined {
  const line = /^["']?main["']?[ \t]*:(?<value>.*)$/m.exec(text)?.groups?.value?.trim();
  if (line === undefined || line === "" || line.startsWith("#")) return undefined;
  const written =
    /^(?:"(?<double>[^"\\]*)"|'(?<single>[^']*)'|(?<plain>[^\s"'|>&*!%@`[\]{},#].*?))(?:\s+#.*)?$/.exec(line);
  const { double, single, plain } = written?.groups ?? {};
  const main = double ?? single ?? plain;
  if (main !== undefined) return main;
  throw new CloudInfraError(
    "config_invalid",
    `\`main\` in ${file} is not written as a plain text on one line`,
    {
      hint: "write it as main: src/index.ts",
    },
  );
}
