import { randomUUID } from "node:crypto";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import type { Configuration } from "../config/settings";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { mapStrings, redact } from "../diagnostics/redact";
import { profileText } from "../emulator/profile";
import { journalFolder, projectFileFor } from "../journal/location";
import type { WireFields } from "../model/resource-fields";
import { systemClock } from "../polling/clock";
import { exercise } from "../probe/changing";
import { CLEAN_COMMAND, Lifecycle, notCleanedUp, RecordFile } from "../probe/lifecycle";
import { Exchanges } from "../probe/reading";
import { type Examined, examine } from "../probe/reading-points";
import {
  type Finding,
  formatReport,
  isServiceUsable,
  observedBehaviour,
  reportAsJson,
  requiredSettings,
} from "../probe/report";
import { type Session, Sessions } from "../provider/context";
import { outputFile, programFolder, stackSettings, type Target } from "./pulumi";
import { explicitProvider, readExport } from "./stack-export";

export interface ProbeOptions extends Target {
  readonly provider?: string;
  readonly create?: boolean;
  readonly project?: string;
  readonly newProject?: boolean;
  readonly region?: string;
  readonly image?: string;
  readonly flavor?: string;
  readonly network?: string;
  readonly yes?: boolean;
  readonly clean?: boolean;
  readonly out?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** Runs `npx pulumi-cloudinfra probe`, and returns the exit code: 1 if the package can't be used with the service. */
export async function probe(options: ProbeOptions): Promise<number> {
  const exchanges = new Exchanges();
  const { observe } = exchanges;
  const opened: Sessions[] = [];
  const tokens = (): string[] => opened.flatMap((sessions) => sessions.tokens);
  const open = (setting: Configuration, retry = {}): Session => {
    const sessions = new Sessions(process.env, systemClock, console.error, { observe, retry });
    sessions.configureOutside(setting);
    opened.push(sessions);
    return sessions.open();
  };
  let exitCode = 0;
  const report = (error: unknown, action: string): void => {
    if (!isCloudInfraError(error)) throw error;
    console.error(formatError(error, { action, provider: options.provider, secrets: tokens() }));
    exitCode = 1;
  };
  try {
    const { out } = options;
    const output = out === undefined ? undefined : outputFile(out, { ...options, option: "--out" });
    const setting = await settingsOf(options);
    if (options.clean) {
      await clean(open(setting));
      return 0;
    }
    const session = open(setting, { maxAttempts: 3 }); // so that a report about an outage takes a few seconds
    const examined = await examine(session, exchanges);
    let found = examined.findings;
    if (options.create && isServiceUsable(found)) {
      const required = requiredSettings(found);
      const creating = open((key) => setting(key) || required[key.replace("cloudinfra:", "")]);
      found = await createAndDelete(creating, exchanges, examined, options, (error) =>
        report(error, "cleaning up"),
      );
    }
    // The service may return a token in any string or field name.
    const findings = mapStrings(found, (text) => redact(text, tokens())) as Finding[];
    const base = session.client.endpoint;
    console.log(
      options.json
        ? JSON.stringify(reportAsJson(base, findings), null, 2)
        : formatReport(base, findings, process.stdout.columns),
    );
    await output?.write(profileText(observedBehaviour(findings)));
    if (!isServiceUsable(findings)) exitCode = 1;
  } catch (error) {
    report(error, options.clean ? "cleaning up" : "probing the service");
  }
  return exitCode;
}

/** Returns the settings of the stack or of its explicit provider. Outside of a Pulumi project, only environment variables apply. */
async function settingsOf(options: ProbeOptions): Promise<Configuration> {
  const { cwd, provider } = options;
  if (projectFileFor(path.resolve(cwd)) === undefined) return () => undefined;
  const folder = programFolder(cwd);
  const setting =
    provider === undefined
      ? await stackSettings(options)
      : explicitProvider(await readExport(options), provider).setting;
  process.chdir(folder); // paths and commands in the settings are relative to the program's folder
  return setting;
}

function recordOf({ client, settings }: Session): RecordFile {
  return new RecordFile(journalFolder({ dir: settings.journalDir }), client.endpoint);
}

/**
 * Creates one instance, observes the service, and deletes the instance, even after Ctrl-C.
 *
 * @param onUnclean called if created objects may still exist
 * @throws CloudInfraError `aborted` if the user doesn't confirm; `conflict` if an earlier probe hasn't been cleaned up
 */
async function createAndDelete(
  session: Session,
  exchanges: Exchanges,
  examined: Examined,
  options: ProbeOptions,
  onUnclean: (error: unknown) => void,
): Promise<Finding[]> {
  const file = recordOf(session);
  if ((await file.read()) !== undefined) throw notCleanedUp();
  const fields = instanceFields(examined, options);
  const name = `probe-${randomUUID().slice(0, 13)}`;
  await confirm(name, fields, options);
  const { project, region } = options;
  const record = { endpoint: session.client.endpoint, name, ...(project && { project }), creations: [] };
  const signal = interruption();
  const life = new Lifecycle(session, file, record, signal);
  try {
    return await exercise(life, exchanges, { ...fields, project, region }, examined.findings, async () => {
      const { findings } = await examine(session, exchanges, signal);
      return findings;
    });
  } finally {
    console.error("Deleting the objects that the probe created …");
    await life.clean().then(reportCleaned, onUnclean);
  }
}

/** Returns a signal that is aborted on the first Ctrl-C. A second Ctrl-C ends the process. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (): void => {
    console.error(
      `Interrupted. If you press Ctrl-C again, run ${CLEAN_COMMAND} to delete the remaining objects.`,
    );
    controller.abort(new CloudInfraError("aborted", "the probe was interrupted"));
  };
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  return controller.signal;
}

function instanceFields({ instance = {} }: Examined, options: ProbeOptions): WireFields {
  const fields = (["image", "flavor", "network"] as const).map((name) => {
    const value = options[name] ?? instance[name];
    if (typeof value === "string") return [name, value];
    throw new CloudInfraError("config_missing", `the ${name} of the instance is unknown`, {
      hint: `Set it with --${name}. If the account has an instance, the probe uses the values of that instance.`,
    });
  });
  return Object.fromEntries(fields);
}

/** @throws CloudInfraError `aborted` if the user doesn't confirm */
async function confirm(
  name: string,
  { image, flavor, network }: WireFields,
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
  const answer = await prompt.question("Continue? (yes/no) ").catch(() => "\n"); // Ctrl-C or Ctrl-D
  prompt.close();
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CloudInfraError("aborted", "the creation was not confirmed, so nothing was created", {
    hint: "Answer yes, or run the command with --yes",
  });
}

async function clean(session: Session): Promise<void> {
  const file = recordOf(session);
  const record = await file.read();
  if (record === undefined) console.error("Nothing to clean up: no probe of this service was interrupted.");
  else reportCleaned(await new Lifecycle(session, file, record).clean());
}

function reportCleaned(remains: readonly string[]): void {
  console.error(
    remains.length === 0
      ? "Deleted everything that the probe had created."
      : `The service doesn't support deletion. Delete these objects with its own tools: ${remains.join(", ")}.`,
  );
}
