import path from "node:path";
import type { Command, Engine, Stack } from "../../test/harness/engine";
import { linkPackages } from "../../test/harness/modules";
import { programFolder } from "../../test/harness/program";
import type { Counts } from "../service/messages";
import { type Service, startService } from "../service/service";
import { programOf, type Variant } from "./variants";

/** The timed commands of each stack, in this order. */
export const COMMANDS = ["up", "up, unchanged", "preview", "refresh", "destroy"] as const;
export type CommandName = (typeof COMMANDS)[number];

/** The command for each name, and the step that every instance must report. */
const RUNS: Readonly<Record<CommandName, { command: Command; step: string }>> = {
  up: { command: "up", step: "create" },
  "up, unchanged": { command: "up", step: "same" },
  preview: { command: "preview", step: "same" },
  refresh: { command: "refresh", step: "same" },
  destroy: { command: "destroy", step: "delete" },
};

/** Returns the commands from the first one to `last`. */
export function commandsUntil(last: CommandName): readonly CommandName[] {
  return COMMANDS.slice(0, COMMANDS.indexOf(last) + 1);
}

export interface Size {
  readonly instances: number;
  /** `--parallel`. */
  readonly parallel: number;
  /** The duration of a creation at the service, in milliseconds. The no-op resource sleeps for the same time. */
  readonly operationMs: number;
  /** The last command to run. */
  readonly until: CommandName;
}

/** The measurements of one stack, from its first `up` to `destroy`. */
export interface Life {
  readonly variant: Variant;
  /** Seconds. */
  readonly seconds: Readonly<Partial<Record<CommandName, number>>>;
  /** The requests of each command. */
  readonly requests: Readonly<Partial<Record<CommandName, Counts>>>;
  /** Size of the whole state in bytes, divided by the number of instances. */
  readonly stateBytes: number;
}

/** @throws Error if a command fails, or leaves unexpected resources */
export async function measure(engine: Engine, variant: Variant, size: Size): Promise<Life> {
  const folder = programFolder(programOf(variant, size.instances), { name: "bench", prelude: "" });
  // A provider written the usual way needs these packages in the user's project.
  linkPackages(folder.dir, ["undici", "uuid"]);
  const service = await startService({ behaviour: { operationMs: size.operationMs } });
  try {
    const stack = await engine.open({
      ...{ dir: folder.dir, project: "bench", stack: "dev" },
      config: { "cloudinfra:endpoint": service.endpoint, "cloudinfra:token": { secret: service.token } },
      env: {
        CLOUDINFRA_JOURNAL_DIR: path.join(folder.dir, "journal"),
        BENCH_OPERATION_MS: String(size.operationMs),
      },
    });
    try {
      return await lifeOf(stack, service, variant, size);
    } finally {
      await stack.dispose();
    }
  } finally {
    await service.stop();
    folder.remove();
  }
}

async function lifeOf(stack: Stack, service: Service, variant: Variant, size: Size): Promise<Life> {
  const seconds: Partial<Record<CommandName, number>> = {};
  const requests: Partial<Record<CommandName, Counts>> = {};
  let stateBytes = 0;
  for (const name of commandsUntil(size.until)) {
    const { command, step } = RUNS[name];
    const before = await service.counts();
    const start = performance.now();
    const { ok, output, changes } = await stack.run(command, { parallel: size.parallel });
    seconds[name] = (performance.now() - start) / 1000;
    requests[name] = minus(await service.counts(), before);
    // The counts also include the project, and the stack itself.
    if (!ok || (changes[step] ?? 0) < size.instances)
      throw new Error(`${name} of ${variant}: ${JSON.stringify(changes)}\n${output}`);
    if (name === "up")
      stateBytes = Buffer.byteLength(JSON.stringify(await stack.deployment())) / size.instances;
  }
  return { variant, seconds, requests, stateBytes };
}

function minus(after: Counts, before: Counts): Counts {
  const left = Object.entries(after).map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const);
  return Object.fromEntries(left.filter(([, count]) => count > 0));
}
