import { once } from "node:events";
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { isLoopback as isLoopbackHost } from "../api/endpoint";
import {
  type Emulator,
  type EmulatorOptions,
  faultKinds,
  type LoggedRequest,
  startEmulator,
} from "../emulator";
import { behaviourSettings, parseBehaviourOption, parseFaultOption } from "../emulator/options";
import { isLoopback } from "../emulator/server";
import type { Command } from "./command";

/** `npx pulumi-cloudinfra emulator`: runs the service in memory until Ctrl-C or SIGTERM. */
export const emulator: Command = {
  async run(args) {
    const parsed = parseEmulatorArgs(args);
    if ("error" in parsed) {
      console.error(
        `${parsed.error}\nRun "npx pulumi-cloudinfra emulator --help" for a list of the options.`,
      );
      return 2;
    }
    if (parsed.help) {
      console.log(help());
      return 0;
    }
    const { verbose, options } = parsed;
    const stop = new AbortController();
    const stopped = once(stop.signal, "abort");
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    let running: Emulator;
    try {
      running = await startEmulator({
        ...options,
        requestsKept: 0,
        ...(verbose ? { onRequest: (request) => console.log(requestLine(request)) } : {}),
      });
    } catch (error) {
      console.error(startFailure(error, options.host, options.port));
      return 1;
    }
    console.log(greeting(running));
    await stopped;
    await running.stop();
    return 0;
  },
};

/** Says how programs reach the emulator. */
export function greeting({ endpoint, token }: Pick<Emulator, "endpoint" | "token">): string {
  const isHere = isLoopbackHost(new URL(endpoint).hostname);
  const allowHttp = isHere ? "" : "\n  pulumi config set cloudinfra:allowHttp true";
  return `Emulator of the Cloud Infrastructure Service
  endpoint  ${endpoint}
  token     ${token}

In the folder of your Pulumi program:
  pulumi config set cloudinfra:endpoint ${endpoint}
  pulumi config set --secret cloudinfra:token ${shellWord(token)}${allowHttp}

Press Ctrl-C to stop it. Its objects are lost then.`;
}

function shellWord(word: string): string {
  return /^[\w.:/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function requestLine({ at, method, path, query, status, fault }: LoggedRequest): string {
  const search = new URLSearchParams(query).toString();
  const answer = status === 0 ? "no answer" : status;
  return `${new Date(at).toISOString().slice(11, 19)} ${method} ${path}${search && `?${search}`} ${answer}${fault ? ` (${fault})` : ""}`;
}

function startFailure(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return `Port ${port} on ${host} is in use. Stop the program that uses it, or choose another port with --port (0: any free one).`;
  }
  if (code === "EACCES") return `This user may not open port ${port}. Choose a port above 1023 with --port.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return `${host} is not an address of this machine. Choose another one with --host.`;
  }
  return `The emulator failed to start: ${error instanceof Error ? error.message : String(error)}`;
}

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
