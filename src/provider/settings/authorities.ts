import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { CloudInfraError } from "../../diagnostics/error";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The certificates in the file of the setting `caFile`.
 *
 * @throws CloudInfraError `config_invalid`
 */
export function readCertificates(file: string): readonly string[] {
  const hint = "it must hold the authority's certificates as PEM; the path counts from the program's folder";
  const failed = (why: string): CloudInfraError =>
    new CloudInfraError("config_invalid", `the file ${file} of cloudinfra:caFile ${why}`, { hint });
  let text: string;
  try {
    text = readFileSync(path.resolve(file), "utf8");
  } catch (cause) {
    throw failed(`can't be read: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw failed("holds no certificate");
  for (const [index, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate);
    } catch {
      throw failed(`holds a damaged certificate, number ${index + 1}`);
    }
  }
  return certificates;
}
