import { exec } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import * as v from "valibot";
import type { TokenSource } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import type { TokenSetting } from "./settings";

const COMMAND_TIMEOUT_MS = 60_000;

/** A token from a setting: as it stands there, from a file, or from a command (§5 leaves open how one is obtained). */
export function tokenSource(setting: TokenSetting): TokenSource {
  // A command's text may hold a password; a file's name tells where to look.
  const origin = setting.kind === "tokenFile" ? `${setting.source} (${setting.value})` : setting.source;
  if (setting.kind === "token") return { origin, get: async () => setting.value };
  const fetchToken = setting.kind === "tokenFile" ? () => fromFile(setting) : () => fromCommand(setting);
  return new RenewableToken(origin, fetchToken);
}

/** Fetched once, and again only when it is refused; one fetch at a time. */
class RenewableToken implements TokenSource {
  private current: Promise<string> | undefined;

  constructor(
    readonly origin: string,
    private readonly fetchToken: () => Promise<string>,
  ) {}

  get(): Promise<string> {
    this.current ??= this.start();
    return this.current;
  }

  async renew(refused: string): Promise<string | undefined> {
    const seen = this.current;
    const current = await this.get();
    if (current !== refused) return current;
    // Of several that were refused at once, the first fetches.
    if (this.current === seen) this.current = this.start();
    const renewed = await this.get();
    return renewed === refused ? undefined : renewed;
  }

  private start(): Promise<string> {
    const fetching = this.fetchToken();
    // A fetch that failed is no token: the next call tries again.
    fetching.catch(() => {
      if (this.current === fetching) this.current = undefined;
    });
    return fetching;
  }
}

async function fromFile({ value, source }: TokenSetting): Promise<string> {
  let text: string;
  try {
    text = await readFile(path.resolve(value), "utf8");
  } catch (cause) {
    throw new CloudInfraError(
      "config_invalid",
      `the token file ${value}, named by ${source}, can't be read`,
      {
        cause,
        hint: `${cause instanceof Error ? cause.message : String(cause)}; the path counts from the program's folder`,
      },
    );
  }
  return oneToken(text, `the token file ${value}`);
}

async function fromCommand({ value, source }: TokenSetting): Promise<string> {
  const output = await new Promise<string>((resolve, reject) => {
    const command = exec(
      value,
      { timeout: COMMAND_TIMEOUT_MS, maxBuffer: 1 << 20 },
      (cause, stdout, stderr) => {
        if (cause === null) return resolve(stdout);
        const ending = cause.killed
          ? `took longer than ${COMMAND_TIMEOUT_MS / 1000} s`
          : `ended with ${cause.code ?? cause.signal}`;
        // What it printed as its result may be a token; its complaints are what helps.
        const complaint = stderr.trim().split("\n").at(-1);
        reject(
          new CloudInfraError("config_invalid", `the token command, named by ${source}, ${ending}`, {
            hint: complaint ? `it said: ${complaint}` : "run it by hand in the program's folder",
          }),
        );
      },
    );
    command.stdin?.end(); // a command that asks gets no answer, rather than a long wait for one
  });
  return oneToken(tokenInJson(output) ?? output, `the token command named by ${source}`);
}

const tokenDocument = v.union([
  v.pipe(
    v.object({ token: v.string() }),
    v.transform((document) => document.token),
  ),
  v.pipe(
    v.object({ access_token: v.string() }),
    v.transform((document) => document.access_token),
  ),
]);

/** A command may print the token alone, or a JSON document with `token` or `access_token`. */
function tokenInJson(output: string): string | undefined {
  if (!output.trimStart().startsWith("{")) return undefined;
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), tokenDocument), output);
  if (parsed.success) return parsed.output;
  throw new CloudInfraError("config_invalid", "the token command printed JSON without a token", {
    hint: 'print the token alone, or {"token": "…"} or {"access_token": "…"}',
  });
}

function oneToken(text: string, source: string): string {
  const token = text.trim();
  if (token === "") throw new CloudInfraError("config_invalid", `${source} gave no token: it is empty`);
  if (/\s/.test(token)) {
    throw new CloudInfraError("config_invalid", `${source} gave more than a token: it holds white space`);
  }
  return token;
}
