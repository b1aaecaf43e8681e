import path from "node:path";
import type { Command, Engine, Stack } from "../../test/harness/engine";
import { linkPackages } from "../../test/harness/modules";
import { programFolder } from "../../test/harness/program";
import type { Counts } from "../service/messages";
import { type Service, startService } from "../service/service";
import { programOf, type Variant } from "./variants";

/** What is timed of each stack, in this order. */
export const COMMANDS = ["up", "up, unchanged", "preview", "refresh", "destroy"] as const;
export type CommandName = (typeof COMMANDS)[number];

/** What is run for each, and the step that every instance has to show. */
const RUNS: Readonly<Record<CommandName, { command: Command; step: string }>> = {
  up: { command: "up", step: "create" },
  "up, unchanged": { command: "up", step: "same" },
  preview: { command: "preview", step: "same" },
  refresh: { command: "refresh", step: "same" },
  destroy: { command: "destroy", step: "delete" },
};

/** The commands from the first to `last`. */
export function commandsUntil(last: CommandName): readonly CommandName[] {
  return COMMANDS.slice(0, COMMANDS.indexOf(last) + 1);
}

export interface Size {
  readonly instances: number;
  /** `--parallel`. */
  readonly parallel: number;
  /** How long the service takes for a creation, in milliseconds; the no-op resource sleeps as long. */
  readonly operationMs: number;
  /** The last command that is run and timed. */
  readonly until: CommandName;
}

/** One stack from its first `up` to its end. */
export interface Life {
  readonly variant: Variant;
  /** Seconds. */
  readonly seconds: Readonly<Partial<Record<CommandName, number>>>;
  /** What the service was asked by each command. */
  readonly requests: Readonly<Partial<Record<CommandName, Counts>>>;
  /** Bytes of the whole state, for each instance. */
  readonly stateBytes: number;
}

/** @throws Error where a command fails, or leaves other resources than it should */
export async function measure(engine: Engine, variant: Variant, size: Size): Promise<Life> {
  const folder = programFolder(programOf(variant, size.instances), { name: "bench", prelude: "" });
  // As a user's project would have it, who writes a provider in the usual way.
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
    // The project is one of them, and the stack itself another.
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
