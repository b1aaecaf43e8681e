import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { CloudInfraError } from "../diagnostics/error";
import { redact } from "../diagnostics/redact";
import { type Clock, within } from "../polling/clock";

/** Provides the bearer token (§5). */
export interface TokenSource {
  /** Describes the source in messages, such as `the setting cloudinfra:tokenFile (/run/token)`. */
  readonly origin: string;
  fetch(): Promise<IssuedToken>;
}

export interface IssuedToken {
  readonly token: string;
  /** The time from the request until the token expires, in milliseconds, or `undefined` if the lifetime isn't known. */
  readonly lifetimeMs?: number | undefined;
}

/**
 * Parses a token, and removes surrounding white space.
 *
 * @param source the origin of the text, as the subject of error messages
 * @throws CloudInfraError `config_invalid` if the text is empty or contains a character that isn't allowed in a header. The message doesn't
 * contain the text
 */
export function parseToken(text: string, source: string): string {
  const token = text.trim();
  if (token === "")
    throw new CloudInfraError("config_invalid", `${source} is empty`, {
      hint: "Add the token.",
    });
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new CloudInfraError("config_invalid", `${source} contains more than a token`, {
      hint: "Remove everything except the token. A token can't contain white space, line breaks or non-ASCII characters.",
    });
  }
  return token;
}

/**
 * Reads a token file.
 *
 * @param kind the name of the file in messages, such as "the token file"
 * @param source the setting that names the file, as users know it
 * @returns the file's text, and its name for further messages
 * @throws CloudInfraError `config_invalid` if the file can't be read
 */
export async function readTokenFile(file: string, kind: string, source: string) {
  const name = `${kind} ${file} from ${source}`;
  try {
    return { text: await readFile(path.resolve(file), "utf8"), name };
  } catch (cause) {
    // If the folder doesn't exist either, the value may be the token itself, so the message doesn't contain the value.
    const isPath = /[\\/]/.test(file) && existsSync(path.dirname(path.resolve(file)));
    throw new CloudInfraError("config_invalid", `${isPath ? name : `${kind} from ${source}`} can't be read`, {
      ...(isPath && { cause }),
      hint: "Check the path. Relative paths are resolved from the program's folder.",
    });
  }
}

/** The maximum number of tokens to keep in memory, because a long-running client may renew its token often. */
const MAX_REMEMBERED_TOKENS = 16;

export type Auth = ReturnType<typeof createAuth>;

/** The time before its expiry at which a token is renewed, in milliseconds. For short lifetimes, a fifth of the lifetime applies. */
const MARGIN_MS = 60_000;
/** The pause between attempts to renew a token that is still valid, in milliseconds. */
const PAUSE_MS = 10_000;

/**
 * Creates the token cache of a client. A token is renewed shortly before it expires, or after the service has rejected it. Concurrent
 * requests share one renewal. While the token is valid, a failed renewal isn't an error.
 */
export function createAuth(source: TokenSource, clock: Clock) {
  /** The most recent tokens. */
  const used: string[] = [];
  let held: { token: string; renewAtMs: number; expiresAtMs: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function fetchToken(): Promise<string> {
    const startedMs = clock.now();
    const { token: text, lifetimeMs = Number.POSITIVE_INFINITY } = await source.fetch();
    const token = parseToken(text, `the token from ${source.origin}`);
    if (!used.includes(token)) used.unshift(token);
    used.length = Math.min(used.length, MAX_REMEMBERED_TOKENS);
    const expiresAtMs = startedMs + lifetimeMs;
    held = { token, expiresAtMs, renewAtMs: expiresAtMs - Math.min(MARGIN_MS, lifetimeMs / 5) };
    return token;
  }

  async function current(): Promise<string> {
    if (held !== undefined && clock.now() < held.renewAtMs) return held.token;
    fetching ??= fetchToken().finally(() => {
      fetching = undefined;
    });
    try {
      return await fetching;
    } catch (error) {
      const nowMs = clock.now();
      if (held === undefined || nowMs >= held.expiresAtMs) throw error;
      held = { ...held, renewAtMs: Math.min(nowMs + PAUSE_MS, held.expiresAtMs) };
      return held.token;
    }
  }

  async function renewed(rejected: string): Promise<string | undefined> {
    const seen = held;
    const token = await current();
    if (token !== rejected) return token;
    // If several requests report the same rejected token, only the first one discards it, and only if it wasn't fetched just now.
    if (seen !== undefined && held === seen) held = undefined;
    const fresh = await current();
    return fresh === rejected ? undefined : fresh;
  }

  return {
    origin: source.origin,
    used,
    token: (signal: AbortSignal) => within(signal, current()),
    /**
     * Returns a token other than the rejected token, or `undefined` if there is no other token. Only the wait takes the signal: the renewal
     * must continue if one of the requests that share it is cancelled.
     */
    renewed: (rejected: string, signal: AbortSignal) => within(signal, renewed(rejected)),
    /** Removes the most recent tokens from a string. */
    redact: (text: string) => redact(text, used),
  };
}
