import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { readSettings } from "../config/read-settings";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { profileText } from "../emulator/profile";
import { projectFileFor } from "../journal/location";
import { systemClock } from "../polling/clock";
import { examine } from "../probe/examine";
import { observedBehaviour, works } from "../probe/points";
import { formatReport, reportAsJson } from "../probe/report";
import { openService } from "../probe/service";
import type { ProbeOptions } from "./commands";
import { programFolder, stackSettings } from "./pulumi";
import { explicitProvider, readExport } from "./stack-export";

/** Runs `npx pulumi-cloudinfra probe`, and returns the exit code: 1 if the package can't be used with the service. */
export async function probe(options: ProbeOptions): Promise<number> {
  try {
    const output = options.out === undefined ? undefined : path.resolve(options.cwd, options.out);
    if (output !== undefined && existsSync(output) && !options.force)
      throw new CloudInfraError("input_invalid", `${options.out} already exists`, {
        hint: "Choose another file with --out, or overwrite it with --force.",
      });
    const service = await openService(
      readSettings(await settingsOf(options), process.env),
      process.env,
      systemClock,
    );
    try {
      const findings = await examine(service);
      console.log(
        options.json
          ? JSON.stringify(reportAsJson(service.base, findings), null, 2)
          : formatReport(service.base, findings),
      );
      if (output !== undefined) await writeProfile(output, profileText(observedBehaviour(findings)));
      return works(findings) ? 0 : 1;
    } finally {
      await service.close();
    }
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    console.error(formatError(error, { action: "probing the service", provider: options.provider }));
    return 1;
  }
}

/** Returns the settings of the stack or of its explicit provider. Outside of a Pulumi project, only the environment applies. */
async function settingsOf(options: ProbeOptions): Promise<(key: string) => string | undefined> {
  const { cwd, stack, provider } = options;
  if (projectFileFor(path.resolve(cwd)) === undefined) return () => undefined;
  const folder = programFolder(cwd);
  const setting =
    provider === undefined
      ? await stackSettings(cwd, stack)
      : explicitProvider(await readExport(options), provider).setting;
  process.chdir(folder); // paths and commands in the settings are relative to the program's folder
  return setting;
}

async function writeProfile(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (cause) {
    throw new CloudInfraError("input_invalid", `can't write ${file}`, {
      hint: "Choose another file with --out.",
      cause,
    });
  }
}
