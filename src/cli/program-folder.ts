import { existsSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { CloudInfraError } from "../diagnostics/error";
import { projectFileFor, readProjectFile } from "../journal/project-file";

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
  const file = projectFileFor(start);
  if (file === undefined) {
    throw new CloudInfraError("config_missing", `no Pulumi.yaml found in ${start} or above`, {
      hint: "Run the command in the folder of your Pulumi program, or give the folder with --cwd.",
    });
  }
  const main = path.resolve(path.dirname(file), readProjectFile(file).main ?? ".");
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
