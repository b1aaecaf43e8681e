import { spawn } from "node:child_process";
import { once } from "node:events";
import * as v from "valibot";
import { parseToken, readTokenFile, type TokenSource } from "../api/auth";
import { CloudInfraError, codeOf } from "../diagnostics/error";
import { json } from "../diagnostics/problem";
import { type Clock, isTimeoutError, limitOf, within } from "../polling/clock";
import { type ExchangeParts, tokenExchange } from "./oidc-exchange";
import type { TokenSetting } from "./settings";

/** Creates the token source for a setting: the token itself, a file, a command, or an exchange. */
export function tokenSource(setting: TokenSetting, parts: ExchangeParts): TokenSource {
  if ("subject" in setting) return tokenExchange(setting, parts);
  const { kind, value, source } = setting;
  if (kind === "token") return { origin: source, fetch: async () => ({ token: value }) };
  if (kind === "tokenFile")
    return {
      origin: `${source} (${value})`,
      async fetch() {
        const { text, name } = await readTokenFile(value, "the token file", source);
        return { token: parseToken(text, name) };
      },
    };
  return {
    origin: source, // without the command, because a command may contain a password
    fetch: async () => ({ token: await tokenFromCommand(setting, parts.clock) }),
  };
}

const LIMIT_MS = 60_000;
const MAX_OUTPUT_CHARACTERS = 1_000_000;

/**
 * Runs a token command in a shell. The command prints the token, or JSON that contains the token. After a minute, the command and all
 * processes that it has started are killed.
 *
 * @throws CloudInfraError `config_invalid`. The message contains nothing that the command has printed, because its standard error may also
 * contain the token, for example if the shell can't find a command that was substituted by the token
 */
async function tokenFromCommand(
  { value, source }: Pick<TokenSetting, "value" | "source">,
  clock: Clock,
): Promise<string> {
  const name = `the token command from ${source}`;
  const command = start(value);
  const limit = limitOf(LIMIT_MS, clock);
  try {
    const { output, failure } = await within(limit.signal, command.ended);
    if (failure === undefined)
      return parseToken(tokenInJson(output, name) ?? output, `the output of ${name}`);
    throw new CloudInfraError("config_invalid", `${name} ${failure}`, {
      hint: "Run the token command in the program's folder to see the error.",
    });
  } catch (error) {
    if (!isTimeoutError(error)) throw error;
    throw new CloudInfraError("config_invalid", `${name} timed out after ${LIMIT_MS / 1000} s`, {
      hint:
        "Run the token command in the program's folder to see why it hangs. The command gets no input, so it can't prompt you. " +
        "If the command starts a background process, redirect the output of that process.",
    });
  } finally {
    limit.release();
    command.stop();
  }
}

/** Starts a command. `stop` kills the command and all processes that it has started, unless the command has ended. */
function start(command: string) {
  // The command runs in its own process group, so that all its processes can be killed together.
  const isGroup = process.platform !== "win32";
  const child = spawn(command, {
    ...{ shell: true, detached: isGroup, windowsHide: true },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let hasEnded = false;
  const stop = (): void => {
    process.off("exit", stop);
    if (!hasEnded && isGroup && child.pid !== undefined) killGroup(child.pid);
    else if (!hasEnded) child.kill("SIGKILL");
    hasEnded = true;
    // A background process, or a process outside of the group, may keep this stream open.
    child.stdout.destroy();
  };
  process.once("exit", stop);
  /** Resolves to the output, and the reason for the failure, if the command has failed. */
  const ended = new Promise<{ output: string; failure?: string | undefined }>((resolve) => {
    let output = "";
    const end = (failure?: string): void => resolve({ output, failure });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > MAX_OUTPUT_CHARACTERS) end("printed over a million characters instead of a token");
    });
    Promise.all([once(child, "exit"), once(child.stdout, "end")]).then(
      ([[code, signal]]) => {
        hasEnded = true;
        end(
          code === 0 ? undefined : signal === null ? `exited with code ${code}` : `was killed by ${signal}`,
        );
      },
      ({ message }) => end(`can't be started: ${message}`),
    );
  });
  return { ended, stop };
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

const tokenDocument = json(
  v.union([v.object({ token: v.string() }), v.object({ access_token: v.string() })]),
);

/** Returns the token in a JSON document, or `undefined` if the output is not JSON. */
function tokenInJson(output: string, name: string): string | undefined {
  if (!output.trimStart().startsWith("{")) return undefined;
  const parsed = v.safeParse(tokenDocument, output);
  if (parsed.success) return "token" in parsed.output ? parsed.output.token : parsed.output.access_token;
  throw new CloudInfraError("config_invalid", `${name} printed JSON without a token`, {
    hint: 'Change the command so that it prints only the token, {"token": "…"} or {"access_token": "…"}.',
  });
}
