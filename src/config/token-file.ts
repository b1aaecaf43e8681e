import { access, readFile } from "node:fs/promises";
import path from "node:path";
import { CloudInfraError } from "../diagnostics/error";

/**
 * Reads a file that a setting names.
 *
 * @param kind what errors call the file, such as "the token file"
 * @param source the setting, as a person knows it
 * @returns its content, and its name for further errors
 * @throws CloudInfraError `config_invalid`
 */
export async function readTokenFile(
  file: string,
  kind: string,
  source: string,
): Promise<{ readonly text: string; readonly name: string }> {
  const name = `${kind} ${file}, named by ${source},`;
  try {
    return { text: await readFile(path.resolve(file), "utf8"), name };
  } catch (cause) {
    // Without a folder that exists, it may be the token itself, which must not be shown.
    const isPath = /[\\/]/.test(file) && (await exists(path.dirname(path.resolve(file))));
    throw new CloudInfraError(
      "config_invalid",
      `${isPath ? name : `${kind} named by ${source}`} can't be read`,
      {
        ...(isPath && { cause }),
        hint: "Check the path. A relative path starts at the program's folder.",
      },
    );
  }
}

function exists(folder: string): Promise<boolean> {
  return access(folder).then(
    () => true,
    () => false,
  );
}

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

/** A token as it was given out. */
export interface IssuedToken {
  readonly token: string;
  /** How long it is good for, counted from before it was asked for. Milliseconds; undefined: nobody said. */
  readonly lifetimeMs?: number | undefined;
}
