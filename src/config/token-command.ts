import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { redact } from "../diagnostics/redact";
import { type Clock, isTimeIsUp, limitOf, within } from "../polling/clock";
import type { PlainTokenSetting } from "./read-settings";
import { parseToken } from "./setting-files";

const LIMIT_MS = 60_000;
const MAX_OUTPUT_CHARACTERS = 1_000_000;
const MAX_KEPT_ERROR_CHARACTERS = 100_000;
const MAX_ERROR_CHARACTERS = 500;
/** Shorter words may be ordinary words. */
const MIN_TOKEN_LENGTH = 8;

/**
 * Runs a token command in a shell and returns the token that it prints, alone or in JSON. The command has no input. It ends when it has
 * exited and its standard output is closed. After a minute, it is killed together with the processes that it has started.
 *
 * @param former tokens that the command has printed before, which its standard error may repeat
 * @throws CloudInfraError `config_invalid`. The message contains the last line of the command's standard error, but not its output
 */
export async function tokenFromCommand(
  { value, source }: PlainTokenSetting,
  clock: Clock,
  former: readonly string[] = [],
): Promise<string> {
  const name = `the token command, set by ${source},`;
  const command = start(value);
  const limit = limitOf(LIMIT_MS, clock);
  try {
    const { output, complaint, failure } = await within(limit.signal, command.ended);
    if (failure === undefined)
      return parseToken(tokenInJson(output, name) ?? output, `the output of ${name}`);
    throw new CloudInfraError("config_invalid", `${name} ${failure}`, {
      hint: hintOn(complaint, { command: value, output, former }),
    });
  } catch (error) {
    if (!isTimeIsUp(error)) throw error;
    throw new CloudInfraError("config_invalid", `${name} timed out after ${LIMIT_MS / 1000} s`, {
      hint:
        "Run it in the program's folder to see what it waits for. It has no input, so it can't ask for anything. " +
        "If it leaves a process in the background, redirect the output of that process.",
    });
  } finally {
    limit.release();
    command.stop();
  }
}

/** Removes the token from the complaint: a shell that traces commands repeats it, and a command of one word may be the token itself. */
function hintOn(
  complaint: string,
  { command, output, former }: Record<"command" | "output", string> & { readonly former: readonly string[] },
): string {
  const words = wordsOf(command);
  const tokens = [...(words.length === 1 ? words : []), ...wordsOf(output)].filter(
    (word) => word.length >= MIN_TOKEN_LENGTH,
  );
  const clean = stripVTControlCharacters(redact(complaint, [...tokens, ...former]));
  return clean === ""
    ? "Run it in the program's folder to see why."
    : `Run it in the program's folder, and fix what it reports: ${clean.slice(0, MAX_ERROR_CHARACTERS)}`;
}

const wordsOf = (text: string): string[] => text.split(/[\s"']+/).filter(Boolean);

interface Ended {
  readonly output: string;
  /** The last line of its standard error. */
  readonly complaint: string;
  /** Undefined if the command succeeded. */
  readonly failure: string | undefined;
}

interface Running {
  readonly ended: Promise<Ended>;
  /** Kills the command and the processes that it has started, unless it has ended. */
  stop(): void;
}

function start(command: string): Running {
  // In its own process group, so that all its processes can be killed together.
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
    // A background process, or one that has left the group, may keep these open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  process.once("exit", stop);
  const ended = new Promise<Ended>((resolve) => {
    let output = "";
    let complaints = "";
    const end = (failure: string | undefined): void => {
      const complaint = complaints.trimEnd().split("\n").at(-1) ?? "";
      resolve({ output, complaint, failure });
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > MAX_OUTPUT_CHARACTERS) end("printed more than a token: over a million characters");
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaints = (complaints + text).slice(-MAX_KEPT_ERROR_CHARACTERS);
    });
    child.once("error", ({ message }) => end(`can't be started: ${message}`));
    let awaited = 2;
    const settle = (): void => {
      awaited -= 1;
      if (awaited > 0) return;
      hasEnded = true;
      const { exitCode: code, signalCode: signal } = child;
      end(code === 0 ? undefined : signal === null ? `exited with code ${code}` : `was killed by ${signal}`);
    };
    // "close" would also wait for the standard error, which a background process may keep open.
    child.once("exit", settle);
    child.stdout.once("end", settle);
  });
  return { ended, stop };
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    const isGone = error instanceof Error && "code" in error && error.code === "ESRCH";
    if (!isGone) throw error;
  }
}

const tokenDocument = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([v.object({ token: v.string() }), v.object({ access_token: v.string() })]),
);

/** Returns the token in a JSON document, or `undefined` if the output is not JSON. */
function tokenInJson(output: string, name: string): string | undefined {
  if (!output.trimStart().startsWith("{")) return undefined;
  const parsed = v.safeParse(tokenDocument, output);
  if (parsed.success) return "token" in parsed.output ? parsed.output.token : parsed.output.access_token;
  throw new CloudInfraError("config_invalid", `${name} printed JSON without a token`, {
    hint: 'Make it print the token alone, {"token": "…"} or {"access_token": "…"}.',
  });
}
