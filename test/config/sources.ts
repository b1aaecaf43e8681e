import { inspect } from "node:util";
import { Agent } from "undici";
import { expect, onTestFinished } from "vitest";
import { createAuth } from "../../src/api/auth";
import { type Connections, connectionsOf } from "../../src/api/connections";
import type { ExchangeParts } from "../../src/config/oidc-exchange";
import { readSettings, type TokenSetting } from "../../src/config/settings";
import { tokenSource as newSource } from "../../src/config/token-source";
import { type CloudInfraError, isCloudInfraError } from "../../src/diagnostics/error";
import { formatError } from "../../src/diagnostics/format";
import { FakeClock } from "../polling/fake-clock";

export interface SourceOptions {
  /** Without the namespace. */
  readonly settings: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
  readonly clock?: FakeClock;
  readonly dispatcher?: Connections;
}

/** The token's source as a stack with these settings has it. */
export function sourceOf({
  settings,
  env = {},
  clock = new FakeClock(),
  dispatcher,
}: SourceOptions): HeldToken {
  const all: Record<string, string> = { endpoint: "https://api.example.com", ...settings };
  const { token, allowHttp } = readSettings((key) => all[key.replace("cloudinfra:", "")], env);
  return tokenSource(token, {
    clock,
    env,
    allowHttp,
    dispatcher: dispatcher ?? ownAgent(),
    random: () => 0.5,
  });
}

/** A token as a client holds it. */
export interface HeldToken {
  readonly origin: string;
  get(): Promise<string>;
  renew(rejected: string): Promise<string | undefined>;
}

export function tokenSource(setting: TokenSetting, parts: ExchangeParts): HeldToken {
  const auth = createAuth(newSource(setting, parts), parts.clock);
  const { signal } = new AbortController();
  const { origin } = auth;
  return { origin, get: () => auth.token(signal), renew: (rejected) => auth.renewed(rejected, signal) };
}

/** What a source is given that needs none of it. */
export const NOTHING = {
  clock: new FakeClock(),
  dispatcher: connectionsOf(new Agent()),
  env: {},
  allowHttp: false,
  random: () => 0,
};

function ownAgent(): Connections {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  return connectionsOf(agent);
}

/** How getting a token failed. */
export async function failureOf(getting: Promise<unknown>): Promise<CloudInfraError> {
  const error: unknown = await getting.then(
    (token) => `gave ${token}`,
    (reason: unknown) => reason,
  );
  if (!isCloudInfraError(error)) throw new Error(`no error of ours: ${String(error)}`, { cause: error });
  return error;
}

/** What a person would see of a failure. */
export async function wordsOf(getting: Promise<unknown>): Promise<string> {
  return formatError(await failureOf(getting), { action: "reading" });
}

/** Nothing of an error may hold one of these, not only its words. */
export async function expectSilentOn(
  getting: Promise<unknown>,
  ...secrets: readonly string[]
): Promise<void> {
  const error: unknown = await getting.then(
    (token) => `gave ${token}`,
    (reason: unknown) => reason,
  );
  const inspected = inspect(error, {
    depth: Number.POSITIVE_INFINITY,
    showHidden: true,
    maxStringLength: null,
  });
  const all = `${inspected} ${JSON.stringify(error)} ${formatError(error, { action: "reading" })}`;
  for (const secret of secrets) expect(all).not.toContain(secret);
}
