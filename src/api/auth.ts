import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { CloudInfraError } from "../diagnostics/error";
import { redact } from "../diagnostics/redact";
import { within } from "../polling/clock";

/** Provides the bearer token (§5). */
export interface TokenSource {
  /** Describes the source in messages, such as `the setting cloudinfra:tokenFile (/run/token)`. */
  readonly origin: string;
  /** Returns the token, without white space around it. */
  get(): Promise<string>;
  /**
   * Called after the service has rejected a token. Returns a different token, or `undefined` if the source has no other token. Concurrent
   * calls share one renewal.
   */
  renew?(rejected: string): Promise<string | undefined>;
}

/**
 * Parses a token, and removes surrounding white space. If the text is empty or contains characters that aren't allowed in a header, throws
 * `config_invalid` without the text.
 *
 * @param source the origin of the text, as the subject of error messages
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
 * Reads a token file. Returns its text, and its name for messages: the `kind`, such as "the token file", the path, and the setting `source`.
 * Throws `config_invalid` if the file can't be read.
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

/** Creates the function that provides the token of each request. The token is also checked and removed from messages. */
export function createAuth(source: TokenSource) {
  const used: string[] = [];

  function checked(text: string): string {
    const token = parseToken(text, `the token from ${source.origin}`);
    if (!used.includes(token)) used.unshift(token);
    used.length = Math.min(used.length, MAX_REMEMBERED_TOKENS);
    return token;
  }

  return {
    origin: source.origin,
    used,
    token: async (signal: AbortSignal) => checked(await within(signal, source.get())),
    /** Returns a token other than the rejected token, or `undefined` if there is no other token. */
    async renewed(rejected: string, signal: AbortSignal): Promise<string | undefined> {
      // The source gets no signal, because other requests may share the renewal.
      const fresh = source.renew && (await within(signal, source.renew(rejected)));
      return fresh === undefined ? undefined : checked(fresh);
    },
    redact: (text: string) => redact(text, used),
  };
}
