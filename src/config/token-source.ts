import { spawn } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import * as v from "valibot";
import { parseToken, readTokenFile, type TokenSource } from "../api/auth";
import { CloudInfraError, codeOf } from "../diagnostics/error";
import { json } from "../diagnostics/problem";
import { redact } from "../diagnostics/redact";
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
  const former: string[] = [];
  return {
    origin: source, // without the command, because a command may contain a password
    async fetch() {
      const token = await tokenFromCommand(setting, parts.clock, former);
      former.push(token);
      return { token };
    },
  };
}

const LIMIT_MS = 60_000;
const MAX_OUTPUT_CHARACTERS = 1_000_000;
const MAX_KEPT_ERROR_CHARACTERS = 100_000;
const MAX_ERROR_CHARACTERS = 500;

/**
 * Runs a token command in a shell. The command prints the token, or JSON that contains the token. After a minute, the command and all
 * processes that it has started are killed.
 *
 * @param former tokens that the command has printed before, because its standard error may repeat them
 * @throws CloudInfraError `config_invalid`. The message contains the last line of the command's standard error, but not its output
 */
async function tokenFromCommand(
  { value, source }: Pick<TokenSetting, "value" | "source">,
  clock: Clock,
  former: readonly string[],
): Promise<string> {
  const name = `the token command from ${source}`;
  const command = start(value);
  const limit = limitOf(LIMIT_MS, clock);
  try {
    const { output, complaint, failure } = await within(limit.signal, command.ended);
    if (failure === undefined)
      return parseToken(tokenInJson(output, name) ?? output, `the output of ${name}`);
    throw new CloudInfraError("config_invalid", `${name} ${failure}`, {
      hint: hintOn(complaint, value.trim(), output, former),
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

/**
 * Returns a hint with the command's standard error. The error may contain the token if the command has also written to its standard output,
 * or if the command begins with a quotation mark or a substitution. A command of one word and the variables of a command may be tokens.
 */
function hintOn(complaint: string, command: string, output: string, former: readonly string[]): string {
  const own = /\s/.test(command) ? [] : [command];
  const variables = [...command.matchAll(/\w+/g)].flatMap(([name]) => process.env[name] ?? []);
  const clean = redact(stripVTControlCharacters(complaint), [...own, ...variables, ...former]);
  return clean === "" || output.trim() !== "" || !/^[\w./~]/.test(command)
    ? "Run the token command in the program's folder to see the error."
    : `Run the token command in the program's folder, and fix the reported problem: ${clean.slice(0, MAX_ERROR_CHARACTERS)}`;
}

/** Starts a command. `stop` kills the command and all processes that it has started, unless the command has ended. */
function start(command: string) {
  // The command runs in its own process group, so that all its processes can be killed together.
  const isGroup = process.platform !== "win32";
  const child = spawn(command, {
    ...{ shell: true, detached: isGroup, windowsHide: true },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let hasEnded = false;
  const stop = (): void => {
    process.off("exit", stop);
    if (!hasEnded && isGroup && child.pid !== undefined) killGroup(child.pid);
    else if (!hasEnded) child.kill("SIGKILL");
    hasEnded = true;
    // A background process, or a process outside of the group, may keep these streams open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  process.once("exit", stop);
  /** Resolves to the output, the last line of the standard error, and the reason for the failure, if the command has failed. */
  const ended = new Promise<{ output: string; complaint: string; failure?: string | undefined }>(
    (resolve) => {
      let output = "";
      let complaints = "";
      const end = (failure?: string): void => {
        resolve({ output, complaint: complaints.trimEnd().split("\n").at(-1) ?? "", failure });
      };
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (output.length > MAX_OUTPUT_CHARACTERS)
          end("printed over a million characters instead of a token");
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        complaints = (complaints + text).slice(-MAX_KEPT_ERROR_CHARACTERS);
      });
      // The "close" event isn't used, because a background process may keep the standard error open.
      Promise.all([once(child, "exit"), once(child.stdout, "end")]).then(
        ([[code, signal]]) => {
          hasEnded = true;
          end(
            code === 0 ? undefined : signal === null ? `exited with code ${code}` : `was killed by ${signal}`,
          );
        },
        ({ message }) => end(`can't be started: ${message}`),
      );
    },
  );
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
