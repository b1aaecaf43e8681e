import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import type { Behaviour } from "../emulator";
import { behaviourSettings, parseBehaviourOption } from "../emulator/behaviour-option";

/** What the command line asks for. */
export interface EmulatorArgs {
  readonly help: boolean;
  readonly verbose: boolean;
  readonly options: {
    readonly port: number;
    readonly host: string;
    readonly token: string;
    readonly behaviour: Partial<Behaviour>;
  };
}

const options = {
  port: { type: "string", default: "8787" },
  host: { type: "string", default: "127.0.0.1" },
  token: { type: "string", default: "emulator-token" },
  "operation-time": { type: "string", default: "3" },
  behaviour: { type: "string", multiple: true },
  verbose: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} satisfies ParseArgsOptionsConfig;

/** Reads the command line; `error` says in words what is wrong with it. */
export function parseEmulatorArgs(args: readonly string[]): EmulatorArgs | { error: string } {
  let values: ReturnType<typeof read>;
  try {
    values = read(args);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    return { error: `--port must be a number from 0 to 65535, not "${values.port}"` };
  }
  if (values.token === "") return { error: "--token must not be empty" };
  const seconds = Number(values["operation-time"]);
  if (values["operation-time"].trim() === "" || !Number.isFinite(seconds) || seconds < 0) {
    return { error: `--operation-time must be a number of seconds, not "${values["operation-time"]}"` };
  }
  let behaviour: Partial<Behaviour> = { operationMs: seconds * 1000 };
  for (const text of values.behaviour ?? []) {
    const parsed = parseBehaviourOption(text);
    if ("error" in parsed) return { error: `--behaviour: ${parsed.error}` };
    behaviour = { ...behaviour, ...parsed.behaviour };
  }
  const { help, verbose, host, token } = values;
  return { help, verbose, options: { port, host, token, behaviour } };
}

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options, strict: true }).values;
}

/** The command's help. */
export function help(): string {
  const switches = Object.entries(behaviourSettings).map(([key, { allowed }]) => `    ${key}=${allowed}`);
  return `Usage: npx pulumi-cloudinfra emulator [options]

  --port <number>              port to listen on; 0: any free one (8787)
  --host <address>             address to listen on (127.0.0.1)
  --token <text>               the bearer token it takes (emulator-token)
  --operation-time <seconds>   how long operations take (3)
  --verbose                    a line for each request
  --behaviour <key>=<value>    how it behaves where the API leaves it open; can be repeated:
${switches.join("\n")}`;
}
