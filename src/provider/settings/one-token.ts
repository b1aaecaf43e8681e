import { CloudInfraError } from "../../diagnostics/error";

/**
 * A text that is a token and nothing else, but for the white space around it.
 *
 * @param source for people: what gave it
 * @throws CloudInfraError `config_invalid`, without the text
 */
export function oneToken(text: string, source: string): string {
  const token = text.trim();
  if (token === "") throw new CloudInfraError("config_invalid", `${source} gave no token: it is empty`);
  if (/\s/.test(token)) {
    throw new CloudInfraError("config_invalid", `${source} gave more than a token: it holds white space`);
  }
  return token;
}
