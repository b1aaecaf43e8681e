import { exec } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import * as v from "valibot";
import type { TokenSource } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import { type ExchangeParts, tokenExchange } from "./oidc/exchange";
import { oneToken } from "./one-token";
import { RenewableToken } from "./renewable-token";
import type { PlainTokenSetting, TokenSetting } from "./token-setting";

const COMMAND_TIMEOUT_MS = 60_000;

/** What a token is obtained with, where it does not stand in a setting. */
export type Surroundings = ExchangeParts;

/** A token from a setting: as it stands there, from a file, a command, or an exchange (§5 leaves open how one is obtained). */
export function tokenSource(setting: TokenSetting, surroundings: Surroundings): TokenSource {
  const { clock } = surroundings;
  if ("subject" in setting) {
    const { origin, exchange } = tokenExchange(setting, surroundings);
    return new RenewableToken(origin, exchange, clock);
  }
  // A command's text may hold a password; a file's name tells where to look.
  const origin = setting.kind === "tokenFile" ? `${setting.source} (${setting.value})` : setting.source;
  if (setting.kind === "token") return { origin, get: async () => setting.value };
  const fetchToken = setting.kind === "tokenFile" ? fromFile : fromCommand;
  return new RenewableToken(origin, async () => ({ token: await fetchToken(setting) }), clock);
}

async function fromFile({ value, source }: PlainTokenSetting): Promise<string> {
  let text: string;
  try {
    text = await readFile(path.resolve(value), "utf8");
  } catch (cause) {
    throw new CloudInfraError(
      "config_invalid",
      `the token file ${value}, named by ${source}, can't be read`,
      {
        cause,
        hint: "the path counts from the program's folder",
      },
    );
  }
  return oneToken(text, `the token file ${value}`);
}

async function fromCommand({ value, source }: PlainTokenSetting): Promise<string> {
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
