import * as pulumi from "@pulumi/pulumi";
import { currentRun } from "./run";

/** Warns once in each run of a program if a token stands in plaintext in the stack's settings file. */
export function warnOfTokenInClear(): void {
  const run = currentRun();
  if (run.hasWarnedOfToken) return;
  const settings = new pulumi.Config("cloudinfra");
  const profiles = settings.get("profiles");
  if (settings.get("token") === undefined && profiles === undefined) return;
  run.hasWarnedOfToken = true;
  if (settings.get("token") !== undefined && !isSecretSetting("cloudinfra:token")) warn("cloudinfra:token");
  const inProfile = /"(token|oidcClientSecret)"\s*:/.exec(profiles ?? "")?.[1];
  if (inProfile !== undefined && !isSecretSetting("cloudinfra:profiles"))
    warn(`cloudinfra:profiles.<name>.${inProfile}`, " --path");
}

function warn(setting: string, flags = ""): void {
  void pulumi.log.warn(
    `${setting} stands in clear in the stack's settings file. ` +
      `Set it as a secret (pulumi config set --secret${flags} ${setting}), and renew it if the file was shared.`,
  );
}

/** The SDK knows which settings are secret, but does not publish it: where it doesn't say, nobody is warned for nothing. */
function isSecretSetting(key: string): boolean {
  const isConfigSecret: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof isConfigSecret === "function" ? isConfigSecret(key) === true : true;
}
