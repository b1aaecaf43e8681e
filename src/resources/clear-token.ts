import * as pulumi from "@pulumi/pulumi";

let warned = false;

/** A token that stands in clear in the stack's file earns one warning a program. */
export function warnOfTokenInClear(): void {
  if (warned || new pulumi.Config("cloudinfra").get("token") === undefined) return;
  warned = true;
  // The SDK tells secret settings from others by this variable alone.
  const secrets = process.env.PULUMI_CONFIG_SECRET_KEYS ?? "[]";
  if (secrets.includes('"cloudinfra:token"')) return;
  void pulumi.log.warn(
    "cloudinfra:token stands in clear in the stack's settings file. " +
      "Set it as a secret (pulumi config set --secret cloudinfra:token), and renew it if the file was shared.",
  );
}
