import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { isTokenText } from "../api/auth";
import { CloudInfraError } from "../diagnostics/error";

/**
 * Reads a token file.
 *
 * @param kind what messages call the file, such as "the token file"
 * @param source the setting that names the file, as users know it
 * @returns the file's text, and its name for further messages
 * @throws CloudInfraError `config_invalid` if the file can't be read
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
    // If the folder doesn't exist either, the value may be the token itself, so the message doesn't contain it.
    const isPath = /[\\/]/.test(file) && existsSync(path.dirname(path.resolve(file)));
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

/**
 * Returns a token without the white space around it.
 *
 * @param source the origin of the text, as the subject of error messages
 * @throws CloudInfraError `config_invalid` if the text is empty or contains a character that a header must not contain. The message
 * doesn't contain the text
 */
export function parseToken(text: string, source: string): string {
  const token = text.trim();
  if (token === "")
    throw new CloudInfraError("config_invalid", `${source} is empty`, {
      hint: "Make sure that it contains the token.",
    });
  if (!isTokenText(token)) {
    throw new CloudInfraError("config_invalid", `${source} is not a single token`, {
      hint: "Remove everything but the token: it can't contain white space, line breaks or non-ASCII characters.",
    });
  }
  return token;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the certificates in the file that `caFile` names.
 *
 * @throws CloudInfraError `config_invalid` if the file can't be read, or contains no certificate or a damaged one
 */
export function readCertificates(file: string): readonly string[] {
  const failed = (why: string): CloudInfraError =>
    new CloudInfraError("config_invalid", `the file ${file} of cloudinfra:caFile ${why}`, {
      hint: "Name a PEM file with the authority's certificates. A relative path starts at the program's folder.",
    });
  let text: string;
  try {
    text = readFileSync(path.resolve(file), "utf8");
  } catch (cause) {
    throw failed(`can't be read: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw failed("contains no certificate");
  for (const [index, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate);
    } catch {
      throw failed(`contains a damaged certificate (number ${index + 1})`);
    }
  }
  return certificates;
}
