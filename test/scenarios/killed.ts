import { randomUUID } from "node:crypto";
import path from "node:path";
import { type Journal, openJournal } from "../../src/journal/journal";
import { runRecover } from "../cli/run-recover";
import type { Scenario } from "../harness/scenario";
import { urnOf } from "./interruption";

/** The journal of the scenario. */
export function journalOf({ emulator, dir, stack }: Pick<Scenario, "emulator" | "dir" | "stack">): Journal {
  const warn = (message: string): never => {
    throw new Error(message);
  };
  return openJournal({
    endpoint: emulator.endpoint,
    dir: path.join(dir, "journal"),
    cwd: dir,
    env: { PULUMI_BACKEND_URL: stack.backendUrl },
    warn,
  });
}

/** Runs `recover --forget` with the journal of the scenario. */
export async function forget({ stack, dir }: Pick<Scenario, "dir" | "stack">, urn: string): Promise<void> {
  const stdin = JSON.stringify({ version: 3, deployment: await stack.deployment() });
  const env = { CLOUDINFRA_JOURNAL_DIR: path.join(dir, "journal"), PULUMI_BACKEND_URL: stack.backendUrl };
  const { code, stderr } = await runRecover(dir, ["--file", "-", "--forget", urn], { stdin, env });
  if (code !== 0) throw new Error(stderr);
}

interface Killed {
  /** Id of the instance's project. */
  readonly project: string;
  /** Fields of the request that differ from the default. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Start of the creation in milliseconds since 1970. @default now */
  readonly at?: number;
  /** Whether the journal entry contains the operation from the reply. @default true */
  readonly isReplyRecorded?: boolean;
  /** Key of the resource that the creation replaces. */
  readonly replaces?: unknown;
  /** Key of the project's resource. */
  readonly projectKey?: unknown;
}

/**
 * Simulates an `up` that was killed during the creation of an instance: the service has accepted the request, and the journal has
 * an entry, but the state doesn't contain the instance.
 *
 * @returns id of the instance
 */
export async function killedCreation(
  scenario: Pick<Scenario, "emulator" | "dir" | "stack">,
  name: string,
  { project, fields = {}, at = Date.now(), isReplyRecorded = true, replaces, projectKey }: Killed,
): Promise<string> {
  const { emulator } = scenario;
  const key = randomUUID();
  const wanted = {
    project,
    name: `${name}-${key.slice(0, 7)}`,
    image: "ubuntu",
    flavor: "small",
    network: "n",
  };
  const body = JSON.stringify({ ...wanted, ...fields });
  const before = new Set(emulator.instances.keys());
  const reply = await fetch(`${emulator.endpoint}/instances`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${emulator.token}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body,
  });
  if (reply.status !== 202) throw new Error(`the service answered ${reply.status}: ${await reply.text()}`);
  const journal = journalOf(scenario);
  const urn = urnOf(name);
  const lineage = {
    ...(typeof replaces === "string" && { replaces }),
    ...(typeof projectKey === "string" && { projectKey }),
  };
  await journal.begin({ urn, key, resource: key, body, at, ...lineage });
  const url = reply.headers.get("location") ?? "";
  if (isReplyRecorded) await journal.extend(key, { operation: { id: url.split("/").at(-1) ?? "", url } });
  const [made = ""] = [...emulator.instances.keys()].filter((id) => !before.has(id));
  return made;
}
