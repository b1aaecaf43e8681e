import { once } from "node:events";
import { isLoopback } from "../api/endpoint";
import { codeOf } from "../diagnostics/error";
import { quoteForShell } from "../diagnostics/format";
import {
  type Emulator,
  type LoggedRequest,
  type EmulatorOptions as StartOptions,
  startEmulator,
} from "../emulator";

export interface EmulatorCommandOptions extends Pick<StartOptions, "token" | "behaviour" | "like"> {
  readonly port: number;
  readonly host: string;
  /** The duration of operations, in seconds. */
  readonly operationTime?: number;
  readonly fault?: StartOptions["faults"];
  readonly page: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
}

/** Runs `npx pulumi-cloudinfra emulator` until Ctrl-C or SIGTERM, and returns the exit code. */
export async function runEmulator(options: EmulatorCommandOptions): Promise<number> {
  const { operationTime, fault: faults = [], page, verbose, json, ...given } = options;
  const seconds = operationTime ?? (given.like === undefined ? 3 : undefined);
  const stopped = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  // The page requires no token, so the emulator doesn't serve the page to other machines.
  const hasPage = page && isLoopback(given.host);
  let emulator: Emulator;
  try {
    emulator = await startEmulator({
      ...{ ...given, faults, page: hasPage, requestsKept: hasPage ? 5000 : 0 },
      behaviour: { ...(seconds !== undefined && { operationMs: seconds * 1000 }), ...given.behaviour },
      ...(verbose && { onRequest: (request) => console.log(requestLine(request, json)) }),
    });
  } catch (error) {
    console.error(startFailure(error, options));
    return 1;
  }
  console.log(
    json
      ? JSON.stringify({ endpoint: emulator.endpoint, token: emulator.token })
      : greeting(emulator, hasPage ? emulator.url : undefined),
  );
  await stopped;
  await emulator.stop();
  return 0;
}

export function greeting({ endpoint, token }: Pick<Emulator, "endpoint" | "token">, page?: string): string {
  const isLocal = isLoopback(new URL(endpoint).hostname);
  const allowHttp = isLocal ? "" : "\n  pulumi config set cloudinfra:allowHttp true";
  return `The emulator of the Cloud Infrastructure Service is running.
  endpoint  ${endpoint}
  token     ${token}${page === undefined ? "" : `\n  page      ${page}`}

In the folder of your Pulumi program, run:
  pulumi config set cloudinfra:endpoint ${endpoint}
  pulumi config set --secret cloudinfra:token ${quoteForShell(token)}${allowHttp}

Press Ctrl-C to stop the emulator. Its objects are then lost.`;
}

function requestLine({ at, method, path, query, status, fault }: LoggedRequest, json = false): string {
  const time = new Date(at).toISOString();
  const reply = status === 0 ? null : status;
  if (json) return JSON.stringify({ time, method, path, query, status: reply, fault });
  const search = new URLSearchParams(query).toString();
  const target = `${path}${search && `?${search}`}`;
  return `${time.slice(11, 19)} ${method} ${target} ${reply ?? "no reply"}${fault ? ` (${fault})` : ""}`;
}

function startFailure(error: unknown, { host, port }: EmulatorCommandOptions): string {
  const code = codeOf(error);
  if (code === "EADDRINUSE")
    return `emulator failed: port ${port} on ${host} is in use\n  hint: Stop the program that uses the port, or choose another port with --port. 0 selects a free port.`;
  if (code === "EACCES")
    return `emulator failed: permission denied for port ${port}\n  hint: Choose a port above 1023 with --port.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return `emulator failed: ${host} is not an address of this machine\n  hint: Choose another address with --host.`;
  return `emulator failed: ${error instanceof Error ? error.message : String(error)}`;
}
