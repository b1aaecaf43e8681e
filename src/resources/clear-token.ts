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
    `cloudinfra: ${setting} is stored in plaintext in the stack's settings file. ` +
      `Set it as a secret with \`pulumi config set --secret${flags} ${setting}\`. If the file was shared, renew the token.`,
  );
}

/** Reports whether a setting is secret. If a version of the SDK doesn't tell, nobody is warned without reason. */
function isSecretSetting(key: string): boolean {
  const isConfigSecret: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof isConfigSecret === "function" ? isConfigSecret(key) === true : true;
}
