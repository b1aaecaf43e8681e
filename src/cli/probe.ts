import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import { readSettings } from "../config/read-settings";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { profileText } from "../emulator/profile";
import { journalFolder, projectFileFor } from "../journal/location";
import { systemClock } from "../polling/clock";
import { examine } from "../probe/examine";
import { exercise } from "../probe/exercise";
import { Exchanges, Lifecycle } from "../probe/lifecycle";
import { type Finding, observedBehaviour, requiredSettings, works } from "../probe/points";
import { type ProbeRecord, RecordFile } from "../probe/record";
import { formatReport, reportAsJson } from "../probe/report";
import { openService, type ProbedService } from "../probe/service";
import { type Session, Sessions } from "../provider/session";
import type { ProbeOptions } from "./commands";
import { programFolder, stackSettings } from "./pulumi";
import { explicitProvider, readExport } from "./stack-export";

type Setting = (key: string) => string | undefined;

/** Runs `npx pulumi-cloudinfra probe`, and returns the exit code: 1 if the package can't be used with the service. */
export async function probe(options: ProbeOptions): Promise<number> {
  try {
    const output = options.out === undefined ? undefined : path.resolve(options.cwd, options.out);
    if (output !== undefined && existsSync(output) && !options.force)
      throw new CloudInfraError("input_invalid", `${options.out} already exists`, {
        hint: "Choose another file with --out, or overwrite it with --force.",
      });
    const setting = await settingsOf(options);
    if (options.clean) return await clean(setting);
    const service = await openService(readSettings(setting, process.env), process.env, systemClock);
    try {
      const findings = await examine(service);
      if (options.create && works(findings))
        findings.push(...(await createAndDelete(service, withFound(setting, findings), options)));
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
async function settingsOf(options: ProbeOptions): Promise<Setting> {
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

/** Adds the settings that the service requires according to the findings. */
function withFound(setting: Setting, findings: readonly Finding[]): Setting {
  const found = new Map(Object.entries(requiredSettings(findings)));
  return (key) => setting(key) ?? found.get(key.replace("cloudinfra:", ""));
}

/** Opens a session of the provider for a probe, and the file with the probe's record. */
function openSession(setting: Setting, exchanges: Exchanges): { session: Session; file: RecordFile } {
  const sessions = new Sessions(process.env, systemClock, console.error, { observe: exchanges.observe });
  sessions.configure(setting);
  const session = sessions.open();
  const folder = journalFolder({ dir: session.settings.journalDir });
  return { session, file: new RecordFile(folder, session.client.endpoint) };
}

/**
 * Creates one instance, observes the service, and deletes the instance, even after Ctrl-C.
 *
 * @throws CloudInfraError `aborted` if the user doesn't confirm; `conflict` if an earlier probe hasn't been cleaned up
 */
async function createAndDelete(
  service: ProbedService,
  setting: Setting,
  options: ProbeOptions,
): Promise<Finding[]> {
  const exchanges = new Exchanges();
  const { session, file } = openSession(setting, exchanges);
  const interruption = new AbortController();
  const interrupt = (): void => {
    console.error("Interrupted. Deleting what the probe has created …");
    interruption.abort(new CloudInfraError("aborted", "the probe was interrupted"));
  };
  try {
    if ((await file.read()) !== undefined) throw notCleanedUp();
    const fields = await instanceFields(service, options);
    const name = `probe-${randomUUID().slice(0, 13)}`;
    await confirmed(name, fields, options);
    const record: ProbeRecord = {
      endpoint: session.client.endpoint,
      name,
      ...(options.project !== undefined && { project: options.project }),
      creations: [],
    };
    const life = new Lifecycle(session, file, record, interruption.signal);
    process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
    try {
      const project = options.project ?? (await newProject(life, name, options));
      return await exercise(life, exchanges, { ...fields, project });
    } finally {
      reportCleaned(await life.uninterrupted().clean());
    }
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    await session.close();
  }
}

async function newProject(life: Lifecycle, name: string, { region = "" }: ProbeOptions): Promise<string> {
  const { created } = await life.create("project", { name, region });
  return (await created()).id;
}

/** Returns the arguments of the probe's instance: those of the options or, if they are omitted, of an existing instance. */
async function instanceFields(
  service: ProbedService,
  options: ProbeOptions,
): Promise<Readonly<Record<string, string>>> {
  const { json } = await service.get("/instances");
  const [existing]: unknown[] = Array.isArray(json.items) ? json.items : [];
  const argument = (name: "image" | "flavor" | "network"): string => {
    const value = options[name] ?? Object(existing)[name];
    if (typeof value === "string") return value;
    throw new CloudInfraError("config_missing", `the ${name} of the instance is unknown`, {
      hint: `Set it with --${name}. If the account has an instance, the probe uses the values of that instance.`,
    });
  };
  return { image: argument("image"), flavor: argument("flavor"), network: argument("network") };
}

/** @throws CloudInfraError `aborted` if the user doesn't confirm */
async function confirmed(
  name: string,
  { image, flavor, network }: Readonly<Record<string, string>>,
  { project, region, yes }: ProbeOptions,
): Promise<void> {
  const place = project === undefined ? `a new project in the region ${region}` : `project ${project}`;
  console.error(
    `The probe creates an instance in ${place}, changes its labels, and deletes everything that it has created:
  name     ${name}
  image    ${image}
  flavor   ${flavor}
  network  ${network}
A service that ignores idempotency keys, or allows duplicate names, may create up to three instances.`,
  );
  if (yes) return;
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question("Continue? (yes/no) ");
  prompt.close();
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CloudInfraError("aborted", "you didn't confirm", { hint: "Nothing was created." });
}

function notCleanedUp(): CloudInfraError {
  return new CloudInfraError("conflict", "an earlier probe was interrupted, and may have left objects", {
    hint: "Run `npx pulumi-cloudinfra probe --clean` to delete them.",
  });
}

/** Deletes what an interrupted probe has created. */
async function clean(setting: Setting): Promise<number> {
  const { session, file } = openSession(setting, new Exchanges());
  try {
    const record = await file.read();
    if (record === undefined) console.error("Nothing to clean up: no probe of this service was interrupted.");
    else reportCleaned(await new Lifecycle(session, file, record).clean());
    return 0;
  } finally {
    await session.close();
  }
}

function reportCleaned(remains: readonly string[]): void {
  console.error(
    remains.length === 0
      ? "Deleted everything that the probe had created."
      : `The service doesn't support deletion. Delete these objects with its own tools: ${remains.join(", ")}.`,
  );
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
