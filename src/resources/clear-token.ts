import * as pulumi from "@pulumi/pulumi";

let warned = false;

/** A token that stands in clear in the stack's file earns one warning a program. */
export function warnOfTokenInClear(): void {
  if (warned || new pulumi.Config("cloudinfra").get("token") === undefined) return;
  warned = true;
  if (isSecretSetting("cloudinfra:token")) return;
  void pulumi.log.warn(
    "cloudinfra:token stands in clear in the stack's settings file. " +
      "Set it as a secret (pulumi config set --secret cloudinfra:token), and renew it if the file was shared.",
  );
}

/** The SDK knows which settings are secret, but does not publish it: where it doesn't say, nobody is warned for nothing. */
function isSecretSetting(key: string): boolean {
  const isConfigSecret: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof isConfigSecret === "function" ? isConfigSecret(key) === true : true;
}
