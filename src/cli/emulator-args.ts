import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import type { EmulatorOptions } from "../emulator";
import { behaviourSettings, parseBehaviourOption } from "../emulator/behaviour-option";
import { parseFaultOption } from "../emulator/fault-option";
import { faultKinds } from "../emulator/faults";
import { isLoopback } from "../emulator/listener";

/** A parsed command line. */
export interface EmulatorArgs {
  readonly help: boolean;
  readonly verbose: boolean;
  readonly options: Required<Pick<EmulatorOptions, "port" | "host" | "behaviour" | "faults">> &
    Pick<EmulatorOptions, "token">;
}

const options = {
  port: { type: "string", default: "8787" },
  host: { type: "string", default: "127.0.0.1" },
  token: { type: "string" },
  "operation-time": { type: "string", default: "3" },
  behaviour: { type: "string", multiple: true },
  fault: { type: "string", multiple: true },
  verbose: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} satisfies ParseArgsOptionsConfig;

/** Parses the command line. `error` says what is wrong with it. */
export function parseEmulatorArgs(args: readonly string[]): EmulatorArgs | { error: string } {
  let values: ReturnType<typeof read>;
  try {
    values = read(args);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  const { help, verbose, host, token } = values;
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    return { error: `--port must be a number from 0 to 65535, not "${values.port}"` };
  }
  if (host === "") return { error: "--host must not be empty" };
  if (token === "") return { error: "--token must not be empty" };
  if (token === undefined && !isLoopback(host)) {
    return { error: `--host ${host} needs a --token of your own, because other machines can reach it` };
  }
  const seconds = Number(values["operation-time"]);
  if (values["operation-time"].trim() === "" || !Number.isFinite(seconds) || seconds < 0) {
    return { error: `--operation-time must be a number of seconds, not "${values["operation-time"]}"` };
  }
  let behaviour: NonNullable<EmulatorOptions["behaviour"]> = { operationMs: seconds * 1000 };
  for (const text of values.behaviour ?? []) {
    const parsed = parseBehaviourOption(text);
    if ("error" in parsed) return { error: `--behaviour: ${parsed.error}` };
    behaviour = { ...behaviour, ...parsed.behaviour };
  }
  const faults = [];
  for (const text of values.fault ?? []) {
    const parsed = parseFaultOption(text);
    if ("error" in parsed) return { error: `--fault: ${parsed.error}` };
    faults.push(parsed.fault);
  }
  return {
    help,
    verbose,
    options: { port, host, behaviour, faults, ...(token !== undefined && { token }) },
  };
}

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options, strict: true }).values;
}

/** The help of the command. */
export function help(): string {
  const switches = Object.entries(behaviourSettings).map(([key, { allowed }]) => `    ${key}=${allowed}`);
  return `Usage: npx pulumi-cloudinfra emulator [options]

  --port <number>              port to listen on; 0: any free one (8787)
  --host <address>             address to listen on (127.0.0.1)
  --token <text>               bearer token; required if --host is not this machine (emulator-token)
  --operation-time <seconds>   duration of operations (3)
  --verbose                    print a line for each request
  --fault <rule>               make requests go wrong; repeatable. A rule is a kind, or JSON such as
                               '{"kind":"gateway","status":520,"method":"POST","times":"all"}'. Kinds:
${wrapped(faultKinds, 31, 100)}
  --behaviour <key>=<value>    behaviour that the API leaves open; repeatable:
${switches.join("\n")}`;
}

function wrapped(words: readonly string[], indent: number, width: number): string {
  const lines = [""];
  for (const word of words) {
    const line = lines.at(-1) ?? "";
    if (indent + line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map((line) => " ".repeat(indent) + line).join("\n");
}
