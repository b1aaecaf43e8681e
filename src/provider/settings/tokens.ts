import type { TokenSource } from "../../api/client";
import { type ExchangeParts, tokenExchange } from "./oidc/exchange";
import { parseToken } from "./one-token";
import { type IssuedToken, RenewableToken } from "./renewable-token";
import { tokenFromCommand } from "./token-command";
import { readTokenFile } from "./token-file";
import type { PlainTokenSetting, TokenSetting } from "./token-setting";

/** What the sources of tokens need. */
export type TokenEnvironment = ExchangeParts;

/** Opens the source that a setting names: the token itself, a file, a command, or an exchange (§5 doesn't say how to get one). */
export function tokenSource(setting: TokenSetting, surroundings: TokenEnvironment): TokenSource {
  const { clock } = surroundings;
  if ("subject" in setting) {
    const { origin, exchange } = tokenExchange(setting, surroundings);
    return new RenewableToken(origin, exchange, clock);
  }
  // A command's text may contain a password; a file's name shows where to look.
  const origin = setting.kind === "tokenFile" ? `${setting.source} (${setting.value})` : setting.source;
  if (setting.kind === "token") return { origin, get: async () => setting.value };
  const former: string[] = [];
  const fetchToken = async (): Promise<IssuedToken> => {
    const token =
      setting.kind === "tokenFile" ? await fromFile(setting) : await tokenFromCommand(setting, clock, former);
    former.push(token);
    return { token };
  };
  return new RenewableToken(origin, fetchToken, clock);
}

async function fromFile({ value, source }: PlainTokenSetting): Promise<string> {
  const { text, name } = await readTokenFile(value, "the token file", source);
  return parseToken(text, name);
}
