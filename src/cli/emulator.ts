import { once } from "node:events";
import { isLoopback } from "../api/endpoint";
import { type Emulator, type LoggedRequest, startEmulator } from "../emulator";
import type { Command } from "./command";
import { help, parseEmulatorArgs } from "./emulator-args";

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
  const isHere = isLoopback(new URL(endpoint).hostname);
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
