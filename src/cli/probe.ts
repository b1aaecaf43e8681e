import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import { readSettings } from "../config/read-settings";
import type { Configuration } from "../config/settings";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { redact } from "../diagnostics/redact";
import { profileText } from "../emulator/profile";
import { journalFolder, projectFileFor } from "../journal/location";
import { systemClock } from "../polling/clock";
import { examine } from "../probe/examine";
import { exercise } from "../probe/exercise";
import { Exchanges, Lifecycle } from "../probe/lifecycle";
import { addFindings, type Finding, observedBehaviour, requiredSettings, works } from "../probe/points";
import { type ProbeRecord, RecordFile } from "../probe/record";
import { formatReport, reportAsJson } from "../probe/report";
import { openService, type ProbedService } from "../probe/service";
import { type Session, Sessions } from "../provider/session";
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
    const setting = await settingsOf(options);
    if (options.clean) return await clean(setting);
    const service = await openService(readSettings(setting, process.env), process.env, systemClock);
    const tokens = [...service.tokens];
    try {
      let findings = await examine(service);
      if (options.create && works(findings))
        findings = addFindings(
          findings,
          await createAndDelete(service, findings, withFound(setting, findings), options, tokens),
        );
      const clean = (text: string): string => redact(text, tokens);
      const report = options.json
        ? JSON.stringify(reportAsJson(service.base, findings), null, 2)
        : formatReport(service.base, findings);
      console.log(clean(report));
      if (output !== undefined) await writeProfile(output, clean(profileText(observedBehaviour(findings))));
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
async function settingsOf(options: ProbeOptions): Promise<Configuration> {
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
function withFound(setting: Configuration, findings: readonly Finding[]): Configuration {
  const found = new Map(Object.entries(requiredSettings(findings)));
  return (key) => setting(key) ?? found.get(key.replace("cloudinfra:", ""));
}

/** Opens a session of the provider for a probe, and the file with the probe's record. */
function openSession(setting: Configuration, exchanges: Exchanges): { session: Session; file: RecordFile } {
  const sessions = new Sessions(process.env, systemClock, console.error, { observe: exchanges.observe });
  sessions.configure(setting);
  const session = sessions.open();
  const folder = journalFolder({ dir: session.settings.journalDir });
  return { session, file: new RecordFile(folder, session.client.endpoint) };
}

/**
 * Creates one instance, observes the service, and deletes the instance, even after Ctrl-C.
 *
 * @param tokens receives the tokens of the requests
 * @throws CloudInfraError `aborted` if the user doesn't confirm; `conflict` if an earlier probe hasn't been cleaned up
 */
async function createAndDelete(
  service: ProbedService,
  findings: readonly Finding[],
  setting: Configuration,
  options: ProbeOptions,
  tokens: string[],
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
    const { project, region } = options;
    process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
    try {
      return await exercise(life, exchanges, { ...fields, project, region }, findings, () =>
        examine(service),
      );
    } finally {
      tokens.push(...session.client.tokens);
      reportCleaned(await life.uninterrupted().clean());
    }
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    await session.close();
  }
}

/** Returns the arguments of the probe's instance: those of the options or, if they are omitted, of an existing instance. */
async function instanceFields(
  service: ProbedService,
  options: ProbeOptions,
): Promise<Readonly<Record<string, string>>> {
  const { json } = await service.get("/instances");
  const [item]: unknown[] = Array.isArray(json.items) ? json.items : [];
  const { id } = Object(item);
  // A list may omit fields.
  const single = id === undefined ? undefined : await service.get(`/instances/${encodeURIComponent(id)}`);
  const existing = { ...Object(item), ...(single?.status === 200 && single.json) };
  const argument = (name: "image" | "flavor" | "network"): string => {
    const value = options[name] ?? existing[name];
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
    `The probe creates an instance in ${place}, changes its name, labels and SSH keys, and deletes it again:
  name     ${name}
  image    ${image}
  flavor   ${flavor}
  network  ${network}
  address  public, chosen by the service
It also requests instances with the same name, with the same idempotency key, and with an unknown flavor. The service may create some of
them. The probe deletes everything that it has created.`,
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
async function clean(setting: Configuration): Promise<number> {
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
