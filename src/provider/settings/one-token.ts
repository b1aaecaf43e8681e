import { CloudInfraError } from "../../diagnostics/error";

/**
 * Returns a token without the white space around it.
 *
 * @param source where the text comes from; the subject of the error message
 * @throws CloudInfraError `config_invalid`, without the text, if it is empty or has a character that no header may contain
 */
export function parseToken(text: string, source: string): string {
  const token = text.trim();
  if (token === "")
    throw new CloudInfraError("config_invalid", `${source} is empty`, {
      hint: "Make sure that it contains the token.",
    });
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new CloudInfraError("config_invalid", `${source} is not a single token`, {
      hint: "Remove everything but the token: it can't contain white space, line breaks or non-ASCII characters.",
    });
  }
  return token;
}
