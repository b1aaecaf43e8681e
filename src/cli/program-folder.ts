import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";

/** The names of Pulumi's project files, in order of precedence. */
const PROJECT_FILES = ["Pulumi.json", "Pulumi.yaml", "Pulumi.yml"];

/**
 * Finds the working directory of the program and the provider, which journal entries name. This is the folder of the project file, or
 * the folder of its `main`. Pulumi looks for the project file in `cwd` and above.
 *
 * @throws CloudInfraError `config_missing`, `config_invalid`
 */
export function programFolder(cwd: string): string {
  const start = path.resolve(cwd);
  if (!statSync(start, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CloudInfraError("config_missing", `the folder ${start} doesn't exist`, {
      hint: "Give the folder of your Pulumi program with --cwd, or run the command there.",
    });
  }
  const file = projectFile(start);
  if (file === undefined) {
    throw new CloudInfraError("config_missing", `no Pulumi.yaml found in ${start} or above`, {
      hint: "Run the command in the folder of your Pulumi program, or give the folder with --cwd.",
    });
  }
  const main = path.resolve(path.dirname(file), mainOf(file) ?? ".");
  if (!existsSync(main)) {
    throw new CloudInfraError(
      "config_invalid",
      `\`main\` in ${file} names a path that doesn't exist: ${main}`,
      {
        hint: "Correct `main`, or run the command in a complete copy of the program.",
      },
    );
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

/** A YAML parser would be a lot for one key. A value that is not on the key's line is an error. */
function mainOfYaml(text: string, file: string): string | undefined {
  const line = /^["']?main["']?[ \t]*:(?<value>.*)$/m.exec(text)?.groups?.value?.trim();
  if (line === undefined || line === "" || line.startsWith("#")) return undefined;
  const written =
    /^(?:"(?<double>[^"\\]*)"|'(?<single>[^']*)'|(?<plain>[^\s"'|>&*!%@`[\]{},#].*?))(?:\s+#.*)?$/.exec(line);
  const { double, single, plain } = written?.groups ?? {};
  const main = double ?? single ?? plain;
  if (main !== undefined) return main;
  throw new CloudInfraError("config_invalid", `\`main\` in ${file} is not a string on one line`, {
    hint: "Write it like this: `main: src/index.ts`.",
  });
}
